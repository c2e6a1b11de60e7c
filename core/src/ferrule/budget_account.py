"""One budget: what may be spent of it, what was, and the words that tell how it stands."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

Scope = Literal["turn", "thread", "tree"]
_WARN_AT: Final = 0.8


class BudgetExceededError(FerruleError):
    """A budget is used up, or cannot be kept; the turn ends."""


class Limits(NamedTuple):
    """What may be spent; None where nothing bounds it.

    Attributes:
        tokens: Tokens read and written, cached ones included.
        cost_usd: US dollars by the catalogue's prices.
        seconds: Time in which turns ran.
        requests: Responses of a model.
    """

    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    requests: int | None = None

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Limits:
        """Read a table of the configuration, which has been checked."""
        return cls(**{key: cast("int", table[key]) for key in cls._fields if key in table})

    def narrowed(self, other: Limits) -> Limits:
        """Return what keeps to both."""
        pairs = zip(self, other, strict=True)
        return Limits(*(_least([each for each in pair if each is not None]) for pair in pairs))


def _least(bounds: list[float]) -> int | None:
    """Return the smallest bound; what is no number bounds everything."""
    if any(math.isnan(bound) for bound in bounds):
        return 0
    return cast("int", min(bounds)) if bounds else None


class Used(NamedTuple):
    """What was spent; `usd` is None once a price was not known."""

    tokens: int = 0
    usd: float | None = 0.0
    requests: int = 0

    def plus(self, other: Used) -> Used:
        """Return the sum."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Used(self.tokens + other.tokens, usd, self.requests + other.requests)


NOTHING: Final = Used()
"""What is used at first."""


class Clock:
    """Adds up the time in which at least one of those it is started for runs."""

    def __init__(self, seconds: float = 0.0) -> None:
        """Begin with what was measured before."""
        self._seconds = seconds
        self._running = 0
        self._since = 0.0

    def start(self) -> None:
        """Begin to count, unless somebody runs already."""
        if not self._running:
            self._since = time.monotonic()
        self._running += 1

    def stop(self) -> None:
        """Count no further, unless somebody else runs."""
        self._running -= 1
        if not self._running:
            self._seconds += time.monotonic() - self._since

    @property
    def seconds(self) -> float:
        """The time so far."""
        return self._seconds + (time.monotonic() - self._since if self._running else 0.0)


class Account:
    """One budget and how much of it is used.

    Attributes:
        scope: Whose it is.
        limits: What may be spent.
        used: What was.
        clock: The time.
    """

    def __init__(
        self, scope: Scope, limits: Limits, used: Used = NOTHING, clock: Clock | None = None
    ) -> None:
        """Begin with what was used before."""
        self.scope = scope
        self.limits = limits
        self.used = used
        self.clock = clock or Clock()
        self._is_unmeasured = False
        self._told: set[str] = set()

    def add(self, used: Used) -> None:
        """Count a response; one without tokens is one whose provider reports no usage."""
        self.used = self.used.plus(used)
        self._is_unmeasured |= not used.tokens

    @property
    def remaining_s(self) -> float:
        """The time that is left."""
        return math.inf if self.limits.seconds is None else self.limits.seconds - self.clock.seconds

    @property
    def warning_in_s(self) -> float:
        """The time after which the use of time is worth a warning."""
        bound = self.limits.seconds
        if bound is None or "seconds" in self._told:
            return math.inf
        return bound * _WARN_AT - self.clock.seconds

    def unpriced(self, model: str) -> BudgetExceededError | None:
        """Say that the cost cannot be known, where it is bounded."""
        if self.limits.cost_usd is None:
            return None
        return BudgetExceededError(
            f"the {self.scope}'s cost budget of ${self.limits.cost_usd:g} cannot be kept: no price"
            f" is known for the model {model!r}; add its `prices` to the file that"
            f" `model_catalog_json` names, or bound `budgets.{self.scope}.tokens` instead"
        )

    def excess(self) -> BudgetExceededError | None:
        """Say what is used up, or cannot be measured; None while there is something left."""
        limits = self.limits
        if self._is_unmeasured and not (limits.tokens is None and limits.cost_usd is None):
            key = "cost_usd" if limits.tokens is None else "tokens"
            return BudgetExceededError(
                f"`budgets.{self.scope}.{key}` cannot be kept: the model's provider reports no"
                f" usage; bound `budgets.{self.scope}.requests` or `seconds` instead"
            )
        if limits.cost_usd is not None and self.used.usd is None:
            return BudgetExceededError(
                f"the {self.scope}'s cost budget of ${limits.cost_usd:g} cannot be kept: a model"
                " was used whose price is not known; start a new thread, or bound"
                f" `budgets.{self.scope}.tokens` instead"
            )
        for key, bound, used, words in self._measures():
            if not used < bound:  # so that what is no number bounds everything
                return self.used_up(key, words)
        return None

    def used_up(self, key: str, words: tuple[str, str]) -> BudgetExceededError:
        """Say that one of the limits is reached."""
        budget, used = words
        return BudgetExceededError(
            f"the {self.scope}'s {budget} is used up: {used} used; raise"
            f" `budgets.{self.scope}.{key}` to go on"
        )

    def out_of_time(self) -> BudgetExceededError:
        """Say that the time is over, in whole figures."""
        bound = self.limits.seconds or 0.0
        words = f"time budget of {bound:g} s", f"{max(self.clock.seconds, bound):.0f} s"
        return self.used_up("seconds", words)

    def warnings(self) -> list[str]:
        """Say once of each limit that little is left."""
        told: list[str] = []
        for key, bound, used, (budget, shown) in self._measures():
            if key not in self._told and used >= bound * _WARN_AT:
                self._told.add(key)
                if used < bound:  # else the end of the turn says so
                    told.append(f"{shown} of the {self.scope}'s {budget} are used")
        return told

    def _measures(self) -> list[tuple[str, float, float, tuple[str, str]]]:
        """List each limit with its key, its bound, what is used, and the words for both."""
        limits, used = self.limits, self.used
        found: list[tuple[str, float, float, tuple[str, str]]] = []
        if limits.tokens is not None:
            words = f"token budget of {limits.tokens:,}", f"{used.tokens:,}"
            found.append(("tokens", limits.tokens, used.tokens, words))
        if limits.cost_usd is not None and used.usd is not None:
            words = f"cost budget of ${limits.cost_usd:g}", f"${used.usd:.4f}"
            found.append(("cost_usd", limits.cost_usd, used.usd, words))
        if limits.seconds is not None:
            spent = self.clock.seconds
            words = f"time budget of {limits.seconds:g} s", f"{spent:.0f} s"
            found.append(("seconds", limits.seconds, spent, words))
        if limits.requests is not None:
            words = f"budget of {limits.requests:,} requests", f"{used.requests:,}"
            found.append(("requests", limits.requests, used.requests, words))
        return found
