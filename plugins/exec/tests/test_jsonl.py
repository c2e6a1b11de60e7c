"""The JSON events: names and fields that clients of `exec --json` rely on."""

from __future__ import annotations

import json

import pytest

from ferrule_exec.jsonl import JsonOutput
from ferrule_exec.outcome import Outcome
from ferrule_hookspecs.token_counts import no_usage


@pytest.fixture
def output(written):
    stdout = written("stdout")
    output = JsonOutput(stdout.stream)
    output.events = lambda: [json.loads(line) for line in stdout.text.splitlines()]
    return output


COMMAND = {
    "type": "commandExecution",
    "id": "call_1",
    "command": "/bin/bash -lc 'echo hi'",
    "cwd": "/work",
    "commandActions": [],
    "status": "inProgress",
}


def test_a_run_from_its_thread_to_its_usage(output, event, session, outcome):
    output.opened(session, "go")
    output.happened(event("turn/started", turn={}))
    output.happened(event.completed({"type": "agentMessage", "id": "m", "text": "Hello"}))
    output.ended(outcome())
    assert output.events() == [
        {"type": "thread.started", "thread_id": "thread-1"},
        {"type": "turn.started"},
        {
            "type": "item.completed",
            "item": {"id": "item_0", "type": "agent_message", "text": "Hello"},
        },
        {
            "type": "turn.completed",
            "usage": {
                "input_tokens": 100,
                "cached_input_tokens": 50,
                "cache_write_input_tokens": 0,
                "output_tokens": 10,
                "reasoning_output_tokens": 0,
            },
            "thread_usage": {
                "input_tokens": 300,
                "cached_input_tokens": 150,
                "cache_write_input_tokens": 0,
                "output_tokens": 30,
                "reasoning_output_tokens": 0,
            },
        },
    ]


def test_a_command_keeps_its_id_from_start_to_completion(output, event):
    output.happened(event.started(COMMAND))
    output.happened(event.started({**COMMAND, "id": "call_2"}))
    done = {**COMMAND, "status": "failed", "aggregatedOutput": "hi\n", "exitCode": 3}
    output.happened(event.completed(done))
    first, _, last = output.events()
    assert first["item"] == {
        "id": "item_0",
        "type": "command_execution",
        "command": "/bin/bash -lc 'echo hi'",
        "aggregated_output": "",
        "exit_code": None,
        "status": "in_progress",
    }
    assert last["item"]["id"] == "item_0"
    assert (last["item"]["exit_code"], last["item"]["aggregated_output"]) == (3, "hi\n")


def test_changes_of_a_patch_are_sorted_by_path(output, event):
    changes = [
        {"path": "/w/b", "kind": {"type": "add"}, "diff": "x"},
        {"path": "/w/a", "kind": {"type": "update", "move_path": None}, "diff": "y"},
    ]
    output.happened(
        event.completed(
            {"type": "fileChange", "id": "c", "changes": changes, "status": "completed"}
        )
    )
    assert output.events()[0]["item"]["changes"] == [
        {"path": "/w/a", "kind": "update"},
        {"path": "/w/b", "kind": "add"},
    ]


def test_a_refused_patch_says_why(output, event):
    change = {"path": "/w/a", "kind": {"type": "add"}, "diff": "x"}
    item = {"type": "fileChange", "id": "c", "changes": [change], "status": "declined"}
    decision = {"decision": "decline", "reviewer": "policy", "reason": "outside of the project"}
    output.happened(event("item/decision", itemId="c", outcome=decision))
    output.happened(event.completed(item))
    assert output.events()[0]["item"]["status"] == "failed"
    assert output.events()[0]["item"]["error"] == {"message": "outside of the project"}


def test_a_refused_call_of_any_tool_shows_with_its_reason(output, event):
    call = {
        "type": "dynamicToolCall",
        "id": "c",
        "tool": "no_such_tool",
        "arguments": {"a": 1},
        "status": "declined",
        "contentItems": [{"type": "inputText", "text": "there is no such tool"}],
        "success": False,
    }
    output.happened(event.completed(call))
    assert output.events()[0]["item"] == {
        "id": "item_0",
        "type": "tool_call",
        "tool": "no_such_tool",
        "arguments": {"a": 1},
        "result": None,
        "error": {"message": "there is no such tool"},
        "status": "declined",
    }


def test_the_plan_is_one_item_that_is_completed_with_the_turn(output, event, outcome):
    def plan(*statuses):
        steps = [{"step": f"s{n}", "status": status} for n, status in enumerate(statuses)]
        return event("turn/plan/updated", explanation=None, plan=steps)

    output.happened(plan("completed", "inProgress"))
    output.happened(plan("completed", "completed"))
    output.ended(outcome())
    assert [(e["type"], e["item"]["id"]) for e in output.events()[:3]] == [
        ("item.started", "item_0"),
        ("item.updated", "item_0"),
        ("item.completed", "item_0"),
    ]
    assert output.events()[2]["item"]["items"] == [
        {"text": "s0", "completed": True},
        {"text": "s1", "completed": True},
    ]


def test_retries_and_warnings_are_events(output, event):
    output.happened(event("warning", message="careful"))
    output.happened(event("error", error={"message": "Reconnecting... 1/5"}, willRetry=True))
    assert output.events() == [
        {
            "type": "item.completed",
            "item": {"id": "item_0", "type": "error", "message": "careful"},
        },
        {"type": "error", "message": "Reconnecting... 1/5"},
    ]


def test_an_interrupted_turn_says_so(output, outcome):
    output.ended(outcome("interrupted", "The turn was interrupted."))
    assert output.events() == [
        {
            "type": "turn.failed",
            "error": {"message": "The turn was interrupted.", "reason": "interrupted"},
        }
    ]


def test_the_repairing_turn_is_part_of_the_one_that_was_asked_for(output, event):
    output.happened(event("turn/started", turn={}))
    output.happened(event("turn/started", turn={}))
    assert output.events() == [{"type": "turn.started"}]


def test_empty_reasoning_and_the_users_own_message_are_not_shown(output, event):
    output.happened(event.completed({"type": "reasoning", "id": "r", "summary": [], "content": []}))
    output.happened(event.completed({"type": "userMessage", "id": "u", "content": []}))
    assert output.events() == []


def test_a_lone_surrogate_of_a_model_does_not_break_the_stream(output, event):
    output.happened(event.completed({"type": "agentMessage", "id": "m", "text": "\ud800"}))
    assert output.events()[0]["item"]["text"] == "?"


def test_what_reviews_used_is_told_apart(output):
    usage = {**no_usage(), "inputTokens": 7, "totalTokens": 7}
    output.ended(Outcome("completed", "", None, no_usage(), no_usage(), review_usage=usage))
    assert output.events()[-1]["review_usage"]["input_tokens"] == 7
    assert output.events()[-1]["usage"]["input_tokens"] == 0


def test_without_reviews_nothing_is_said_of_their_usage(output):
    output.ended(Outcome("completed", "", None, no_usage(), no_usage(), review_usage=no_usage()))
    assert "review_usage" not in output.events()[-1]
