"""The goal of one thread, kept with it: shared by its tools, its hooks and its clients' methods."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ferrule_goals.goal import Goal, GoalError, checked_budget
from ferrule_goals.registry import NAME
from ferrule_goals.words import budget_note, continuation

if TYPE_CHECKING:
    from ferrule_goals.goal import Status
    from ferrule_hookspecs.history import MessageItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.services import SessionServices
    from ferrule_hookspecs.threads import TokenUsage


class GoalBook:
    """Keeps the goal of an open thread.

    Attributes:
        goal: As it stands; None where there is none.
        is_followed: Whether the running turn works on it: its model can say that it is reached.
    """

    def __init__(self, context: PluginContext, services: SessionServices) -> None:
        """Read what is kept with the thread."""
        self._context = context
        self._services = services
        stored = services.kept(NAME)
        self.goal = None if stored is None else Goal.stored(stored)
        self.is_followed = True
        self._turn_id: str | None = None
        self._since: float | None = None

    @property
    def thread_id(self) -> str:
        """The thread."""
        return self._context.thread_id

    @property
    def most(self) -> int | None:
        """The most tokens that a goal may use."""
        most = self._context.table("goals").get("max_goal_token_budget")
        return most if isinstance(most, int) and most > 0 else None

    def begin_turn(self, turn_id: str) -> None:
        """A turn runs; its time counts while the goal is active."""
        if turn_id == self._turn_id:
            return
        self._turn_id, self._since = turn_id, time.monotonic()

    def end_turn(self) -> None:
        """The turn is over."""
        if self.goal is not None:
            self._count_time()
            self._keep()
        self._turn_id = self._since = None

    def current(self) -> Goal | None:
        """Return the goal with the time it has used until now."""
        self._count_time()
        return self.goal

    def create(self, objective: str, token_budget: int | None) -> Goal:
        """Set a goal where none is open.

        Raises:
            GoalError: There is one.
        """
        if self.goal is not None and self.goal.status != "complete":
            raise GoalError(
                "this thread has a goal that is not complete; complete it before you set another"
            )
        return self._set(Goal.new(objective, token_budget, self.most))

    def replace(
        self, objective: str | None, status: Status | None, token_budget: int | None
    ) -> Goal:
        """Set the goal anew or change parts of it, as a user does.

        Raises:
            GoalError: There is none to change.
        """
        self._count_time()
        if objective is not None and (
            self.goal is None or objective.strip() != self.goal.objective
        ):
            goal, status = Goal.new(objective, token_budget, self.most), status or "active"
        elif self.goal is None:
            raise GoalError("this thread has no goal; give an `objective`")
        else:
            goal = self.goal
            if token_budget is not None:
                goal.token_budget = checked_budget(token_budget, self.most)
        goal.become(status or ("active" if goal.status == "budgetLimited" else goal.status))
        if goal.status == "active" and goal.remaining == 0:
            goal.become("budgetLimited")
        return self._set(goal)

    def update(self, status: Status) -> Goal:
        """Change how the goal stands, as the model does; a used-up budget beats a pause.

        Raises:
            GoalError: There is none.
        """
        if self.goal is None:
            raise GoalError("this thread has no goal")
        self._count_time()
        if status == "complete" or self.goal.status != "budgetLimited":
            self.goal.become(status)
        return self._set(self.goal)

    def clear(self) -> bool:
        """Take the goal away; returns whether there was one."""
        was_there, self.goal = self.goal is not None, None
        if was_there:
            self._services.keep(NAME, None)
            params = {"threadId": self.thread_id}
            self._context.emit({"method": "thread/goal/cleared", "params": params})  # pyright: ignore[reportArgumentType] -- a literal in two steps
        return was_there

    async def count(self, usage: TokenUsage) -> None:
        """Count a response; where that uses up the budget, the model is told to wrap up."""
        goal = self.goal
        if goal is None or goal.status not in ("active", "budgetLimited"):
            return
        if goal.use(usage):
            self._count_time()
            self._set(goal)
            await self.tell(budget_note(goal))

    async def tell(self, text: str) -> None:
        """Put a note before the model."""
        note: MessageItem = {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": text}],
        }
        await self._services.inject([note])  # pyright: ignore[reportArgumentType] -- a TypedDict is a mapping

    async def go_on(self) -> None:
        """Have the model work on the goal, also where no turn runs."""
        if self.goal is not None and self.goal.status == "active":
            await self.tell(continuation(self.goal))
            await self._services.begin_turn()

    def next_prompt(self) -> str | None:
        """What keeps the turn going; None where nothing is open."""
        if self.goal is None or self.goal.status != "active" or not self.is_followed:
            return None
        self._count_time()
        return continuation(self.goal)

    def _set(self, goal: Goal) -> Goal:
        self.goal = goal
        self._keep()
        self._context.emit(
            {
                "method": "thread/goal/updated",
                "params": {
                    "threadId": self.thread_id,
                    "turnId": self._turn_id,
                    "goal": goal.as_wire(self.thread_id),
                },
            }
        )
        return goal

    def _keep(self) -> None:
        if self.goal is not None:
            self._services.keep(NAME, self.goal.as_stored())

    def _count_time(self) -> None:
        now = time.monotonic()
        if self._since is not None:
            if self.goal is not None and self.goal.status in ("active", "budgetLimited"):
                self.goal.seconds_used += now - self._since
            self._since = now
