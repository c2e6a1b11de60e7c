"""A goal: what a thread works towards, what that may use, and what it has used."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from ferrule_hookspecs.goals import ThreadGoal
    from ferrule_hookspecs.threads import TokenUsage

    Status = Literal["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"]

STATUSES: Final = ("active", "paused", "blocked", "usageLimited", "budgetLimited", "complete")
_LONGEST: Final = 4000


class GoalError(FerruleError):
    """A goal cannot be set or changed like that; the message goes to whoever asked."""


@dataclass(slots=True)
class Goal:
    """A goal; times in Unix seconds."""

    objective: str
    status: Status
    token_budget: int | None
    tokens_used: int
    seconds_used: float
    created_at: int
    updated_at: int

    @classmethod
    def new(cls, objective: str, token_budget: int | None, most: int | None) -> Goal:
        """Set a goal; `most` is the most that any goal may use, and the budget of one without.

        Raises:
            GoalError: It is empty or too long, or its budget is none.
        """
        text = objective.strip()
        if not text:
            raise GoalError("the objective of a goal must not be empty")
        if len(text) > _LONGEST:
            raise GoalError(f"the objective of a goal can have {_LONGEST} characters at most")
        now = int(time.time())
        return cls(text, "active", checked_budget(token_budget, most), 0, 0.0, now, now)

    @classmethod
    def stored(cls, value: Mapping[str, object]) -> Goal:
        """Read what `as_stored` gave."""
        return cls(**cast("dict[str, int]", value))  # pyright: ignore[reportArgumentType] -- ours

    def as_stored(self) -> dict[str, object]:
        """Return it as JSON for the thread's store."""
        return {name: getattr(self, name) for name in self.__slots__}

    def as_wire(self, thread_id: str) -> ThreadGoal:
        """Return it as clients and the model read it."""
        wire: ThreadGoal = {
            "threadId": thread_id,
            "objective": self.objective,
            "status": self.status,
            "tokensUsed": self.tokens_used,
            "timeUsedSeconds": int(self.seconds_used),
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        }
        if self.token_budget is not None:
            wire["tokenBudget"] = self.token_budget
        return wire

    @property
    def remaining(self) -> int | None:
        """Tokens that are left; None where nothing bounds it."""
        return None if self.token_budget is None else max(self.token_budget - self.tokens_used, 0)

    def become(self, status: Status) -> None:
        """Change how it stands."""
        self.status = status
        self.updated_at = int(time.time())

    def use(self, usage: TokenUsage) -> bool:
        """Count a response, cached input left out; returns whether the budget is just used up."""
        read = max(usage["inputTokens"] - usage["cachedInputTokens"], 0)
        self.tokens_used += read + usage["outputTokens"]
        if self.status != "active" or self.remaining != 0:
            return False
        self.become("budgetLimited")
        return True


def checked_budget(tokens: int | None, most: int | None) -> int | None:
    """Return the budget of a goal, within the most that is configured.

    Raises:
        GoalError: It is more, or none.
    """
    if tokens is None:
        return most
    if tokens < 1:
        raise GoalError("the token budget of a goal must be above zero")
    if most is not None and tokens > most:
        raise GoalError(
            f"the token budget of a goal can be {most} at most (`goals.max_goal_token_budget`)"
        )
    return tokens
