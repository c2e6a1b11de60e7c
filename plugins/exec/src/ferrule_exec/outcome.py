"""What a run comes to: the turn's end as every kind of output tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeGuard, cast

from ferrule_hookspecs.token_counts import no_usage

if TYPE_CHECKING:
    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.threads import Cost, TokenUsage

Status = Literal["completed", "failed", "interrupted"]


def is_usage(value: object) -> TypeGuard[TokenUsage]:
    """Tell whether a value is a count of tokens; any plugin may have written it."""
    if not isinstance(value, dict):
        return False
    counts = cast("dict[str, object]", value)
    return all(isinstance(counts.get(name), int) for name in no_usage())


def unknown_cost() -> Cost:
    """Return what is said where no price is known."""
    return {"turnUsd": None, "totalUsd": None}


class Spent(NamedTuple):
    """US dollars by the catalogue's prices; None where a price is not known."""

    run_usd: float | None = None
    thread_usd: float | None = None


class Outcome(NamedTuple):
    """How a run ended.

    Attributes:
        status: The turn's end.
        message: Why it failed or was interrupted.
        last_message: The model's last message, if it said anything.
        usage: Tokens of this run.
        thread_usage: Tokens of the thread so far.
        cost: Their price.
        review_usage: Tokens of automatic reviews in this run, which the others are without.
        reason: In a word why it did not come to its end, where programs may want to know.
    """

    status: Status
    message: str
    last_message: str | None
    usage: TokenUsage
    thread_usage: TokenUsage
    cost: Spent = Spent()
    review_usage: TokenUsage | None = None
    reason: str | None = None


class Output(Protocol):
    """Shows a run; a kind of output of its own for people and for programs."""

    def opened(self, session: Session, prompt: str | None) -> None:
        """The thread is ready."""
        ...

    def happened(self, event: Outgoing) -> None:
        """An event of the session, the end of the turn excepted."""
        ...

    def ended(self, outcome: Outcome) -> None:
        """The run is over."""
        ...
