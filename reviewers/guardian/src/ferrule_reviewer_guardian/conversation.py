"""The reviewing model's own conversation: full records first, later only what is new.

What was sent stays byte for byte the beginning of what is sent next, so that providers can reuse
it. It begins anew where the thread is not what it was, as after it was shortened or rolled back,
and where it has grown long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_consult.fence import fresh_nonce
from ferrule_consult.text import json_line, message, tokens
from ferrule_reviewer_guardian.frame import DELTA, FIRST, framed
from ferrule_reviewer_guardian.records import earlier, records, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_hookspecs.history import HistoryItem, MessageItem
    from ferrule_reviewer_guardian.action import Action

_LIMIT: Final = 64_000


class Asked(NamedTuple):
    """A review that is ready to be sent.

    Attributes:
        input: All messages.
        is_whole: Whether the action and all the user's words are in them in full.
        history: The thread they tell of.
        follows: How many messages had been sent before.
    """

    input: tuple[MessageItem, ...]
    is_whole: bool
    history: tuple[HistoryItem, ...]
    follows: int


class ReviewConversation:
    """What the reviewing model was told so far. Reviews may overlap; one of them goes on."""

    def __init__(self, policy: str, draw: Callable[[], str] = fresh_nonce) -> None:
        self._policy = message("developer", policy)
        self._draw = draw
        self._sent: tuple[MessageItem, ...] = ()
        self._told: tuple[HistoryItem, ...] = ()
        self._has_all = True

    def ask(
        self, history: Sequence[HistoryItem], user_texts: Sequence[str], action: Action
    ) -> Asked:
        """Prepare a review of an action in a thread."""
        now = tuple(history)
        if self._is_stale(now):
            self._sent, self._told, self._has_all = (), (), True
        follows = len(self._sent)
        found = list(records(now, frozenset(user_texts), first=len(self._told)))
        if not follows:
            found = [*earlier(now, user_texts), *found]
        fitted = shown(found)
        head = DELTA if follows else FIRST
        text = framed(head, fitted.lines, json_line(action.fields), self._draw)
        before = self._sent or (self._policy,)
        is_whole = action.is_whole and self._has_all and fitted.has_all_user_texts
        return Asked((*before, message("user", text)), is_whole, now, follows)

    def answered(self, asked: Asked, answer: str) -> None:
        """Go on from a review, unless another one was answered in the meantime."""
        if len(self._sent) != asked.follows:
            return
        self._sent = (*asked.input, message("assistant", answer))
        self._told = asked.history
        self._has_all = asked.is_whole

    def _is_stale(self, now: tuple[HistoryItem, ...]) -> bool:
        if now[: len(self._told)] != self._told:
            return True
        sent = [part.get("text", "") for each in self._sent for part in each["content"]]
        return sum(map(tokens, sent)) > _LIMIT
