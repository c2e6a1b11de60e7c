"""The plan reaches the clients in wire form, and a wrong one is refused in plain words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs import PluginContext, ToolArgumentError, ToolCall
from ferrule_plan.tool import UpdatePlan


@dataclass
class Context:
    thread_id: str = "t"
    turn_id: str = "u"
    events: list = field(default_factory=list)

    def emit(self, event):
        self.events.append(event)


def tool(config=None):
    return UpdatePlan(PluginContext(home=Path("/nowhere"), config=config or {}))


def run(arguments):
    context = Context()
    call = ToolCall("c", "update_plan", tool().normalize(arguments), "{}", "function")
    return anyio.run(tool().run, call, context), context.events


def test_the_plan_is_told_to_clients_with_wire_names():
    result, events = run(
        {
            "explanation": "why",
            "plan": [
                {"step": "one", "status": "completed"},
                {"step": "two", "status": "in_progress"},
                {"step": "three", "status": "pending"},
            ],
        }
    )
    assert result.output == "Plan updated"
    assert events == [
        {
            "method": "turn/plan/updated",
            "params": {
                "threadId": "t",
                "turnId": "u",
                "explanation": "why",
                "plan": [
                    {"step": "one", "status": "completed"},
                    {"step": "two", "status": "inProgress"},
                    {"step": "three", "status": "pending"},
                ],
            },
        }
    ]


def test_an_explanation_is_optional_and_unknown_fields_are_left_out():
    arguments = tool().normalize({"plan": [{"step": "a", "status": "pending", "x": 1}], "y": 2})
    assert arguments == {"explanation": None, "plan": [{"step": "a", "status": "pending"}]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "missing field `plan`"),
        ({"plan": "one"}, "plan: expected a list"),
        ({"plan": [{"status": "pending"}]}, r"plan\.0: missing field `step`"),
        ({"plan": ["one"]}, r"plan\.0: missing field `step`"),
        ({"plan": [{"step": "a", "status": "done"}]}, "status must be one of .* not 'done'"),
        ({"plan": [{"step": "a", "status": "in_progress"}] * 2}, "at most one step"),
        ({"plan": [], "explanation": 3}, "explanation: expected a string"),
    ],
)
def test_a_wrong_plan_is_refused_in_plain_words(arguments, message):
    with pytest.raises(ToolArgumentError, match=message):
        tool().normalize(arguments)


@pytest.mark.parametrize(
    ("config", "expected"),
    [({}, False), ({"tools": {"update_plan": {"enabled": True}}}, True), ({"tools": 3}, False)],
)
def test_it_is_off_unless_the_configuration_switches_it_on(config, expected):
    assert tool(config).is_enabled() is expected


def test_it_shows_no_item():
    assert tool().item(ToolCall("c", "update_plan", {}, "{}", "function"), "/ws") is None


def test_the_schema_requires_the_plan():
    schema = tool().schema()
    assert schema.name == "update_plan"
    assert schema.parameters["required"] == ["plan"]
