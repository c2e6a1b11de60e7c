"""The reviewer that asks a person: through the session's client, else at the terminal.

Where neither is there, it declines and says why; nothing is ever accepted by default.
"""

from __future__ import annotations

import io
import os
import select
from typing import TYPE_CHECKING, Final, TextIO

from ferrule_hookspecs.review import (
    ReviewContext,
    ReviewDecision,
    ReviewOutcome,
    ReviewRequest,
)
from ferrule_reviewer_user.answers import from_client, outcome
from ferrule_reviewer_user.questions import question, what

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_hookspecs.plugins import PluginContext

_POLL_S: Final = 0.1
_ANSWERS: Final[Mapping[str, ReviewDecision]] = {
    "y": "accept",
    "yes": "accept",
    "a": "acceptForSession",
    "always": "acceptForSession",
    "n": "decline",
    "no": "decline",
    "c": "cancel",
    "cancel": "cancel",
}
_NOBODY: Final = (
    "nobody can be asked here: no client answers approvals and there is no terminal;"
    " run it in a terminal, or choose another reviewer or approval policy"
)


class UserReviewer:
    """Puts every request before a person."""

    name = "user"

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        """Ask, and return what the person decided."""
        if context.ask_client is not None:
            asked = question(request)
            return from_client(request, asked["method"], await context.ask_client(asked))
        terminal = _open_terminal()
        if terminal is None:
            return {"decision": "decline", "reviewer": self.name, "reason": _NOBODY}
        import threading

        import anyio

        given_up = threading.Event()
        try:
            # A person may take for ever; an interrupted turn leaves the thread, which then ends.
            return await anyio.to_thread.run_sync(
                ask_at_terminal, request, terminal, given_up.is_set, abandon_on_cancel=True
            )
        finally:
            given_up.set()


def ask_at_terminal(
    request: ReviewRequest, terminal: TextIO, is_given_up: Callable[[], bool]
) -> ReviewOutcome:
    """Ask until the answer is one of those offered, then close the terminal.

    End of file declines, and so does nobody waiting for the answer any more: what is typed then
    belongs to somebody else.
    """
    with terminal:
        return _ask(request, terminal, is_given_up)


def _ask(
    request: ReviewRequest, terminal: TextIO, is_given_up: Callable[[], bool]
) -> ReviewOutcome:
    where = "outside the sandbox" if request.escalation else "in the sandbox"
    ask = "Grant it for this turn" if request.lasting else f"Run it {where}"
    terminal.write(f"\nApproval needed: {request.reason}\n  {what(request)}\n  in {request.cwd}\n")
    for plugin, verdict in request.verdicts.items():
        if verdict.reason:
            terminal.write(f"  {plugin}: {verdict.reason}\n")
    while True:
        terminal.write(f"{ask}? [y]es, [a]lways in this session, [n]o, [c]ancel the turn: ")
        terminal.flush()
        while not select.select([terminal], [], [], _POLL_S)[0]:
            if is_given_up():
                terminal.write("\n")
                reason = "nobody waits for the answer any more"
                return {"decision": "decline", "reviewer": "user", "reason": reason}
        line = terminal.readline()
        if not line:
            reason = "the terminal was closed without an answer"
            return {"decision": "decline", "reviewer": "user", "reason": reason}
        decision = _ANSWERS.get(line.strip().lower())
        if decision is not None:
            return outcome(decision, "at the terminal")


def _open_terminal() -> TextIO | None:
    """Open the controlling terminal; None without one, or where nobody looks at it."""
    if not (os.isatty(0) or os.isatty(2)):
        return None
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    # A terminal cannot seek, so that the buffered modes of open() refuse it.
    return io.TextIOWrapper(io.FileIO(handle, "r+"), encoding="utf-8", errors="replace")
