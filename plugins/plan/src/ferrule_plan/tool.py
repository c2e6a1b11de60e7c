"""The tool `update_plan`: the model writes down its steps, clients show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, cast

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.events import PlanStep

WireStatus = Literal["pending", "inProgress", "completed"]
_WIRE: Final[dict[str, WireStatus]] = {
    "pending": "pending",
    "in_progress": "inProgress",
    "completed": "completed",
}
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "explanation": {"type": "string", "description": "Why the plan changes."},
        "plan": {
            "type": "array",
            "description": "All steps, in order; at most one is in progress.",
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "string", "description": "A few words."},
                    "status": {"type": "string", "enum": list(_WIRE)},
                },
                "required": ["step", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["plan"],
    "additionalProperties": False,
}


class UpdatePlan(Tool):
    """Replaces the plan. Changes nothing but what clients show."""

    name = "update_plan"
    description = (
        "Shows the user the plan for the task: all steps with their status. "
        "Send the whole plan each time; keep at most one step in progress."
    )
    read_only = True

    def is_enabled(self) -> bool:
        """Off unless `[tools.update_plan] enabled = true`."""
        return self.context.table("tools", "update_plan").get("enabled") is True

    def schema(self) -> FunctionSchema:
        """The plan and why it changes."""
        return FunctionSchema(self.name, self.description, _PARAMETERS)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check every step; fields nobody knows are left out."""
        explanation = arguments.get("explanation")
        if explanation is not None and not isinstance(explanation, str):
            raise _error("explanation: expected a string")
        if "plan" not in arguments:
            raise _error("missing field `plan`")
        plan = arguments["plan"]
        if not isinstance(plan, list):
            raise _error("plan: expected a list")
        steps = [_step(number, step) for number, step in enumerate(cast("list[object]", plan))]
        if sum(step["status"] == "in_progress" for step in steps) > 1:
            raise _error("plan: at most one step can be in_progress at a time")
        return {"explanation": explanation, "plan": steps}

    def item(self, call: ToolCall, cwd: str) -> None:
        """A plan is shown by its own event, not as an item."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Tell the clients."""
        steps = cast("Sequence[Mapping[str, str]]", call.arguments["plan"])
        plan: list[PlanStep] = [
            {"step": step["step"], "status": _WIRE[step["status"]]} for step in steps
        ]
        context.emit(
            {
                "method": "turn/plan/updated",
                "params": {
                    "threadId": context.thread_id,
                    "turnId": context.turn_id,
                    "explanation": cast("str | None", call.arguments["explanation"]),
                    "plan": plan,
                },
            }
        )
        return ToolResult("Plan updated")


def _step(number: int, value: object) -> dict[str, str]:
    step = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    text, status = step.get("step"), step.get("status")
    if not isinstance(text, str):
        raise _error(f"plan.{number}: missing field `step`")
    if not isinstance(status, str) or status not in _WIRE:
        raise _error(f"plan.{number}: status must be one of {', '.join(_WIRE)}, not {status!r}")
    return {"step": text, "status": status}


def _error(message: str) -> ToolArgumentError:
    return ToolArgumentError(f"failed to parse function arguments: {message}")
