"""The open threads that may have a goal, and the books of those that have one or were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ferrule_goals.book import GoalBook
    from ferrule_hookspecs.plugins import PluginContext

NAME: Final = "goal"
"""What the goal is kept under with its thread."""

books: Final[dict[str, GoalBook]] = {}
_contexts: Final[dict[str, PluginContext]] = {}


def enter(context: PluginContext) -> None:
    """Note a thread that opens; only one that has a goal already costs more than that."""
    _contexts[context.thread_id] = context
    if context.services is not None and context.services.kept(NAME) is not None:
        book_of(context.thread_id)


def leave(thread_id: str) -> None:
    """Forget a thread that closes."""
    books.pop(thread_id, None)
    _contexts.pop(thread_id, None)


def book_of(thread_id: str) -> GoalBook | None:
    """Return the book of an open thread; None where there is no such thread, or goals are off."""
    context = _contexts.get(thread_id)
    if thread_id not in books and context is not None and context.services is not None:
        from ferrule_goals.book import GoalBook

        books[thread_id] = GoalBook(context, context.services)
    return books.get(thread_id)
