"""The dialog at a terminal; what strangers wrote is shown so that it cannot steer the terminal."""

from __future__ import annotations

import io
import os
import select
import shlex
import unicodedata
from typing import TYPE_CHECKING, Final, TextIO

from ferrule_reviewer_user.answers import outcome
from ferrule_reviewer_user.questions import what

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_hookspecs.review import Amendment, ReviewDecision, ReviewOutcome, ReviewRequest

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
_RULE: Final = ("r", "rule")
_UNSEEN: Final = ("C", "Zl", "Zp")
"""Categories of signs that steer a terminal, turn text around, or cannot be seen."""


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
    deed = _deed(request)
    amendment = request.amendments[0] if request.amendments else None
    terminal.write(
        f"\nApproval needed: {shown(request.reason)}\n  {shown(what(request))}\n"
        f"  in {shown(request.cwd)}\n"
    )
    for plugin, verdict in request.verdicts.items():
        if verdict.reason:
            terminal.write(f"  {plugin}: {shown(verdict.reason)}\n")
    rule = ""
    if amendment is not None:
        terminal.write(f"  as a rule: from now on {shown(_meaning(amendment))} without asking\n")
        rule = "as a [r]ule, "
    while True:
        terminal.write(f"{deed}? [y]es, [a]lways in this session, {rule}[n]o, [c]ancel the turn: ")
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
        typed = line.strip().lower()
        if amendment is not None and typed in _RULE:
            accepted = outcome("accept", "at the terminal, as a rule")
            return {**accepted, "amendment": [amendment.kind, *amendment.value]}
        if typed in _ANSWERS:
            return outcome(_ANSWERS[typed], "at the terminal")


def _deed(request: ReviewRequest) -> str:
    """What yes means; tools of servers and of clients run in no sandbox."""
    if request.network is not None:
        return f"Let it connect to {shown(request.network.host)}"
    if request.lasting:
        return "Grant it for this turn"
    kind = request.item["type"] if request.item is not None else ""
    if kind in ("mcpToolCall", "dynamicToolCall"):
        return "Call it, outside the sandbox"
    deed = "Apply" if kind == "fileChange" else "Run"
    return f"{deed} it {'outside' if request.escalation else 'in'} the sandbox"


def shown(text: str) -> str:
    """Return a text in which every sign is seen, and further lines are told from our own."""
    signs = (
        sign
        if sign == "\n" or not unicodedata.category(sign).startswith(_UNSEEN)
        else repr(sign)[1:-1]
        for sign in text
    )
    return "".join(signs).replace("\n", "\n    | ")


def _meaning(amendment: Amendment) -> str:
    value = amendment.value
    if amendment.kind == "network_host":
        return f"{value[-1]} may be reached"
    if amendment.kind == "mcp_tool":
        return f"the tool {' '.join(value[1:])} of the server {value[0]} runs"
    return f"commands that begin with {shlex.join(value)!r} run"


def open_terminal() -> TextIO | None:
    """Open the controlling terminal; None without one, or where nobody looks at it."""
    if not (os.isatty(0) or os.isatty(2)):
        return None
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    # A terminal cannot seek, so that the buffered modes of open() refuse it.
    return io.TextIOWrapper(io.FileIO(handle, "r+"), encoding="utf-8", errors="replace")
