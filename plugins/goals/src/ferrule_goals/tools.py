"""The tools `create_goal`, `get_goal` and `update_goal`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_goals.goal import GoalError
from ferrule_goals.registry import book_of
from ferrule_goals.words import REPORT
from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_goals.book import GoalBook
    from ferrule_goals.goal import Goal, Status

_ENDS: Final = ("complete", "blocked", "paused")


def _parameters(properties: dict[str, object], *required: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class GoalTool(Tool):
    """What the three have in common: they touch nothing but the thread's goal."""

    read_only = True

    def is_enabled(self) -> bool:
        """On unless `[features] goals = false`."""
        return self.context.table("features").get("goals") is not False

    def item(self, call: ToolCall, cwd: str) -> None:
        """A goal is shown by its own event, not as an item."""

    @staticmethod
    def book(context: ToolContext) -> GoalBook:
        """Return the thread's book."""
        book = book_of(context.thread_id)
        if book is None:
            raise ToolError("goals are not available in this session")
        book.begin_turn(context.turn_id)
        return book


class GetGoal(GoalTool):
    """Shows the goal."""

    name = "get_goal"
    description = (
        "Shows the goal of this thread: its status, its budget, and the tokens and the time that it"
        " has used."
    )

    def schema(self) -> FunctionSchema:
        """It takes nothing."""
        return FunctionSchema(self.name, self.description, _parameters({}))

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Whatever is given counts for nothing."""
        return {}

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Show it."""
        return _result(self.book(context).current(), context.thread_id)


class CreateGoal(GoalTool):
    """Sets a goal."""

    name = "create_goal"
    description = (
        "Sets a goal for this thread, which is then worked on until it is reached. Only where the"
        " user or your instructions ask for a goal; an ordinary task is none. Give a token budget"
        " only where one was asked for. While a goal is open there cannot be another."
    )

    def schema(self) -> FunctionSchema:
        """The objective and its budget."""
        properties: dict[str, object] = {
            "objective": {"type": "string", "description": "What is to be reached, concretely."},
            "token_budget": {
                "type": "integer",
                "description": "Most tokens that may be used, where somebody asked for a bound.",
            },
        }
        return FunctionSchema(self.name, self.description, _parameters(properties, "objective"))

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check both."""
        objective, budget = arguments.get("objective"), arguments.get("token_budget")
        if not isinstance(objective, str):
            raise _wrong("missing field `objective`")
        if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool)):
            raise _wrong("token_budget: expected an integer")
        return {"objective": objective, "token_budget": budget}

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Set it."""
        arguments = call.arguments
        budget = cast("int | None", arguments["token_budget"])
        try:
            goal = self.book(context).create(str(arguments["objective"]), budget)
        except GoalError as error:
            raise ToolError(str(error)) from None
        return _result(goal, context.thread_id)


class UpdateGoal(GoalTool):
    """Ends or pauses the goal."""

    name = "update_goal"
    description = (
        "Says how the goal of this thread stands. `complete`: everything it asks for is done, and"
        " you have checked it; a budget that runs out is no reason. `blocked`: the same obstacle"
        " has stopped you at least three times in a row, and you cannot go on without the user;"
        " work that is merely hard or slow is not blocked. `paused`: the user asked for a pause."
        " When a goal with a budget is complete, tell the user how many tokens it used."
    )

    def schema(self) -> FunctionSchema:
        """The new status."""
        status = {"type": "string", "enum": list(_ENDS), "description": "How the goal stands."}
        properties: dict[str, object] = {"status": status}
        return FunctionSchema(self.name, self.description, _parameters(properties, "status"))

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check it."""
        status = arguments.get("status")
        if status not in _ENDS:
            raise _wrong(f"status must be one of {', '.join(_ENDS)}, not {status!r}")
        return {"status": status}

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Change it."""
        try:
            goal = self.book(context).update(cast("Status", call.arguments["status"]))
        except GoalError as error:
            raise ToolError(str(error)) from None
        report = REPORT if goal.status == "complete" and goal.token_budget is not None else None
        return _result(goal, context.thread_id, report)


def _result(goal: Goal | None, thread_id: str, report: str | None = None) -> ToolResult:
    output = {
        "goal": None if goal is None else goal.as_wire(thread_id),
        "remainingTokens": None if goal is None else goal.remaining,
        "completionBudgetReport": report,
    }
    return ToolResult(json.dumps(output, ensure_ascii=False, separators=(",", ":")))


def _wrong(message: str) -> ToolArgumentError:
    return ToolArgumentError(f"failed to parse function arguments: {message}")
