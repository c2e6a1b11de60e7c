"""What hooks answer: exit codes and JSON; a guard whose answer is not understood refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_hooks.answers import Answer, AnswerError, Raw, understood
from ferrule_hooks.calls import combined
from ferrule_hooks.definitions import handlers_of
from ferrule_hooks.handler import Source
from ferrule_hookspecs.tools import ToolCall

CALL = ToolCall("c1", "exec_command", {"cmd": "ls"}, '{"cmd": "ls"}', "function")


def handler(event="PreToolUse", **keys):
    table = {event: [{"hooks": [{"command": "x", **keys}]}]}
    (found,) = handlers_of(table, Source("f", "user"), pytest.fail, root="/nowhere")
    return found


def answer(event="PreToolUse", specific=None, **top):
    if specific is not None:
        top["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return understood(handler(event), Raw(0, json.dumps(top)))


@pytest.mark.parametrize(
    ("raw", "decision", "reason"),
    [
        (Raw(0, ""), None, ""),
        (Raw(0, "some log line"), None, ""),
        (Raw(2, "", "not today\n"), "deny", "not today"),
        (Raw(2, "", ""), "deny", "the hook gave no reason"),
        (Raw(0, '{"decision": "block", "reason": "no"}'), "deny", "no"),
        (Raw(0, '{"decision": "approve"}'), "allow", ""),
        (Raw(0, '{"continue": false, "stopReason": "enough"}'), "deny", "enough"),
    ],
)
def test_exit_codes_and_plain_decisions(raw, decision, reason):
    found = understood(handler(), raw)
    assert (found.decision, found.reason) == (decision, reason)


@pytest.mark.parametrize("wanted", ["allow", "ask", "deny"])
def test_permission_decisions(wanted):
    found = answer(specific={"permissionDecision": wanted, "permissionDecisionReason": "why"})
    assert (found.decision, found.reason) == (wanted, "why")


@pytest.mark.parametrize(("behavior", "decision"), [("allow", "allow"), ("deny", "deny")])
def test_decisions_about_permission_requests(behavior, decision):
    nested = {"decision": {"behavior": behavior, "message": "m"}}
    assert answer("PermissionRequest", nested).decision == decision


def test_other_wishes():
    found = answer(
        specific={"updatedInput": {"command": "ls -l"}, "additionalContext": "c"},
        systemMessage="look",
    )
    assert found.updated_input == {"command": "ls -l"}
    assert (found.context, found.message) == ("c", "look")
    assert answer("PostToolUse", {"updatedToolOutput": {"a": 1}}).replacement == '{"a": 1}'


def test_plain_text_is_context_where_a_session_or_prompt_begins():
    assert understood(handler("SessionStart"), Raw(0, "be kind\n")).context == "be kind"
    assert understood(handler("UserPromptSubmit"), Raw(0, "be kind")).context == "be kind"
    assert understood(handler("PostToolUse"), Raw(0, "be kind")).context is None


def test_long_context_is_cut():
    text = "x" * 20_000
    assert len(understood(handler("SessionStart"), Raw(0, text)).context) < 10_100
    more = handler("SessionStart", additionalContextLimit=6000)
    assert understood(more, Raw(0, text)).context == text


@pytest.mark.parametrize(
    "raw",
    [
        Raw(1, "", "Traceback"),
        Raw(-9, ""),
        Raw(127, "", "not found"),
        Raw(0, "{broken"),
        Raw(0, '{"decision": "blok"}'),
        Raw(0, '{"decison": "block"}'),
        Raw(0, '{"hookSpecificOutput": {"permissionDecision": "denied"}}'),
        Raw(0, '{"hookSpecificOutput": {"permisionDecision": "deny"}}'),
        Raw(0, '{"hookSpecificOutput": {"hookEventName": "Stop"}}'),
        Raw(0, '{"hookSpecificOutput": {"updatedInput": "ls"}}'),
        Raw(0, '{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {}}}}'),
        Raw(0, '{"systemMessage": 3}'),
    ],
)
def test_what_is_not_understood_is_an_error(raw):
    with pytest.raises(AnswerError):
        understood(handler(), raw)


@given(st.lists(st.sampled_from(["allow", "ask", "deny", None]), max_size=6), st.randoms())
def test_a_denial_wins_in_any_order(decisions, random):
    guard = handler()
    answers = [Answer(guard, d, f"r{n}" if d else "") for n, d in enumerate(decisions)]
    verdict = combined(CALL, answers, "/")
    random.shuffle(answers)
    assert combined(CALL, answers, "/") == verdict
    strictest = next((d for d in ("deny", "ask", "allow") if d in decisions), None)
    assert (verdict.decision if verdict else None) == strictest


@given(st.lists(st.sampled_from(["allow", "ask", "deny", None]), max_size=4))
def test_another_hook_never_widens(decisions):
    guard, order = handler(), ["deny", "ask", "allow", None]
    answers = [Answer(guard, d, "r") for d in decisions]
    before = combined(CALL, answers, "/")
    rank = order.index(before.decision if before else None)
    for more in order:
        after = combined(CALL, [*answers, Answer(guard, more, "r")], "/")
        assert order.index(after.decision if after else None) <= max(rank, 2)
        if before is not None:
            assert order.index(after.decision) <= rank
