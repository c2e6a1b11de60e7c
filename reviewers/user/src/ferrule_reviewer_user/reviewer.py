"""The reviewer that asks a person: through the session's client, else at the terminal.

Where neither is there, it declines and says why; nothing is ever accepted by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_reviewer_user.answers import from_client
from ferrule_reviewer_user.questions import question

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import ReviewContext, ReviewOutcome, ReviewRequest

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
        from ferrule_reviewer_user.terminal import ask_at_terminal, open_terminal

        terminal = open_terminal()
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
