"""Approvals: how clients are asked, and what each answer does."""

import json

import pytest
from mcp import Client, types

from ferrule_testkit.model_items import freeform_call, function_call

ASKING = {"prompt": "go", "approval-policy": "on-request", "sandbox": "workspace-write"}
BOTH = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
REFUSED = "approval policy 'never' does not allow asking"


def output_of(stage, number=1):
    """What the model read of its call."""
    (output,) = [
        item["output"]
        for item in stage.model.requests[number].body["input"]
        if item["type"].endswith("_call_output")
    ]
    return str(output)


def ran(stage):
    return (stage.home.workspace / "approved.txt").exists()


@BOTH
def test_an_accepted_command_runs(stage, escalated, mode):
    stage.play(escalated, "done")

    async def conversation(client):
        result = await client.call_tool("codex", ASKING)
        assert result.structured_content["content"] == "done"

    elicit = stage.say("accept", decision="approved")
    stage.talk(conversation, mode=mode, elicitation_callback=elicit)

    (asked,) = stage.asked
    offered = asked.requested_schema["properties"]["decision"]
    decisions = [each["const"] for each in offered["oneOf"]]
    assert asked.requested_schema["required"] == ["decision"]
    assert decisions == ["approved", "approved_for_session", "abort", "denied"]
    assert "echo hi > approved.txt" in asked.message
    assert "it is needed" in asked.message
    assert ran(stage)
    assert "hi" in output_of(stage)


def test_what_was_approved_for_the_session_is_not_asked_again(stage, escalated):
    stage.play(escalated, "first", escalated, "second")

    async def conversation(client):
        one = await client.call_tool("codex", ASKING)
        arguments = {"prompt": "again", "threadId": one.structured_content["threadId"]}
        two = await client.call_tool("codex-reply", arguments)
        assert two.structured_content["content"] == "second"

    elicit = stage.say("accept", decision="approved_for_session")
    stage.talk(conversation, mode="legacy", elicitation_callback=elicit)
    assert len(stage.asked) == 1
    assert ran(stage)


@BOTH
def test_whatever_does_not_say_yes_means_no(stage, escalated, mode):
    answers = {
        "declined": ("decline", {}, "declined by the user"),
        "denied": ("accept", {"decision": "denied"}, "declined by the user"),
        "nonsense": ("accept", {"decision": "whatever"}, "approval request failed"),
        "nothing": ("accept", {}, "approval request failed"),
    }
    current = ""

    async def elicit(context, params):
        action, content, _ = answers[current]
        return await stage.say(action, **content)(context, params)

    async def conversation(client):
        nonlocal current
        for number, (current, (_, _, words)) in enumerate(answers.items()):
            stage.play(escalated, "done")
            result = await client.call_tool("codex", ASKING)
            assert result.structured_content["content"] == "done", current
            assert words in output_of(stage, 2 * number + 1), current
            assert not ran(stage), current

    stage.talk(conversation, mode=mode, elicitation_callback=elicit)
    assert len(stage.asked) == len(answers)


@BOTH
def test_a_question_that_is_dismissed_stops_the_turn(stage, escalated, mode):
    answers = [("cancel", {}), ("accept", {"decision": "abort"})]

    async def elicit(context, params):
        action, content = answers[len(stage.asked)]
        return await stage.say(action, **content)(context, params)

    async def conversation(client):
        for number, answer in enumerate(answers, 1):
            stage.play(escalated, "never said")
            result = await client.call_tool("codex", ASKING)
            assert result.is_error, answer
            assert result.structured_content["content"] == "The turn was interrupted."
            assert not ran(stage), answer
            assert len(stage.model.requests) == number

    stage.talk(conversation, mode=mode, elicitation_callback=elicit)


def test_a_patch_outside_of_the_workspace_is_asked_for_with_its_files(stage):
    target = stage.home.path.parent / "elsewhere.txt"
    patch = f"*** Begin Patch\n*** Add File: {target}\n+x\n*** End Patch\n"
    settings = {"sandbox_workspace_write": {"exclude_slash_tmp": True, "exclude_tmpdir": True}}
    stage.play([freeform_call("apply_patch", patch, call_id="c1")], "done")

    async def conversation(client):
        result = await client.call_tool("codex", {**ASKING, "config": settings})
        assert result.structured_content["content"] == "done"

    elicit = stage.say("accept", decision="approved")
    stage.talk(conversation, mode="2026-07-28", elicitation_callback=elicit)

    (asked,) = stage.asked
    assert f"add {target}" in asked.message
    assert target.read_text() == "x\n"


def test_two_questions_of_one_turn_are_both_answered(stage, escalated):
    arguments = {"cmd": "true", "sandbox_permissions": "require_escalated", "justification": "x"}
    both = [*escalated, function_call("exec_command", arguments, call_id="c2")]
    stage.play(both, "done")

    async def conversation(client):
        result = await client.call_tool("codex", ASKING)
        assert result.structured_content["content"] == "done"

    elicit = stage.say("accept", decision="approved")
    stage.talk(conversation, mode="2026-07-28", elicitation_callback=elicit)
    assert len(stage.asked) == 2


@BOTH
def test_a_client_that_cannot_be_asked_has_the_policy_decide(stage, escalated, mode):
    stage.play(escalated, "done")

    async def conversation(client):
        result = await client.call_tool("codex", ASKING)
        assert result.structured_content["content"] == "done"

    stage.talk(conversation, mode=mode)

    assert not ran(stage)
    assert REFUSED in output_of(stage)


def test_a_thread_that_asked_does_not_ask_on_behalf_of_who_cannot_answer(stage, escalated):
    stage.play("first", escalated, "done")

    async def conversation(server):
        asking = stage.say("accept", decision="approved")
        async with Client(server.protocol, mode="legacy", elicitation_callback=asking) as one:
            result = await one.call_tool("codex", ASKING)
        async with Client(server.protocol, mode="legacy") as other:
            thread_id = result.structured_content["threadId"]
            await other.call_tool("codex-reply", {"prompt": "go", "threadId": thread_id})

    stage.run(conversation)
    assert not stage.asked
    assert not ran(stage)
    assert REFUSED in output_of(stage, 2)


def test_a_question_carries_what_clients_of_codex_read(stage, escalated, wired):
    stage.play(escalated, "done")

    async def conversation(server):
        async with wired(server) as wire:
            wire.answers = {"result": {"action": "accept", "content": {"decision": "approved"}}}
            await wire.initialize(capabilities={"elicitation": {}})
            call = await wire.call("codex", ASKING)
            result = await wire.result(call)

            asked = await wire.until(lambda each: each.get("method") == "elicitation/create")
            params, event = asked["params"], await wire.event("exec_approval_request")
            assert params["threadId"] == result["structuredContent"]["threadId"]
            assert params["codex_elicitation"] == "exec-approval"
            assert params["codex_mcp_tool_call_id"] == str(call)
            assert params["codex_event_id"] == event["id"]
            assert params["codex_call_id"] == event["msg"]["call_id"] == "c1"
            assert params["codex_command"] == event["msg"]["command"]
            assert params["codex_command"][-1] == "echo hi > approved.txt; cat approved.txt"
            assert params["codex_cwd"] == str(stage.home.workspace)
            assert params["codex_parsed_cmd"][0]["cmd"]

    stage.run(conversation)
    assert ran(stage)


def test_a_client_of_an_older_protocol_is_asked_the_way_codex_asked(stage, escalated, wired):
    cases = [
        ({"result": {"action": "accept", "decision": "approved"}}, True),
        ({"result": {"decision": "approved"}}, True),
        ({"result": {"decision": "approved_for_session"}}, True),
        ({"result": {"decision": "denied"}}, False),
        ({"result": {}}, False),
        ({"error": {"code": -32601, "message": "Method not found"}}, False),
    ]

    async def conversation(server):
        for answer, runs in cases:
            (stage.home.workspace / "approved.txt").unlink(missing_ok=True)
            stage.play(escalated, "done")
            async with wired(server) as wire:
                wire.answers = answer
                greeting = await wire.initialize("2025-03-26")
                result = await wire.result(await wire.call("codex", ASKING))

                assert greeting["protocolVersion"] == "2025-03-26"
                assert result["content"] == [{"type": "text", "text": "done"}]
                asked = await wire.until(lambda each: each.get("method") == "elicitation/create")
                schema = asked["params"]["requestedSchema"]
                assert schema == {"type": "object", "properties": {}}
                assert ran(stage) is runs, answer

    stage.run(conversation)


def test_a_client_that_takes_urls_only_is_not_asked(stage, escalated, wired):
    stage.play(escalated, "done")

    async def conversation(server):
        async with wired(server) as wire:
            await wire.initialize(capabilities={"elicitation": {"url": {}}})
            await wire.result(await wire.call("codex", ASKING))

    stage.run(conversation)
    assert not ran(stage)
    assert REFUSED in output_of(stage)


def test_an_answer_to_a_call_that_nobody_made_is_refused(stage, escalated):
    stage.play(escalated, "done")

    async def conversation(client):
        first = await client.session.call_tool("codex", ASKING, allow_input_required=True)
        assert isinstance(first, types.InputRequiredResult)
        yes = {
            key: types.ElicitResult(action="accept", content={"decision": "approved"})
            for key in first.input_requests
        }

        async def again(arguments, state):
            return await client.session.call_tool(
                "codex",
                arguments,
                input_responses=yes,
                request_state=state,
                allow_input_required=True,
            )

        for arguments, state in (
            (ASKING, "guessed"),
            ({**ASKING, "prompt": "something else"}, first.request_state),
        ):
            result = await again(arguments, state)
            assert result.is_error
            assert "nothing waits" in result.content[0].text
        assert not ran(stage)
        done = await again(ASKING, first.request_state)
        assert done.structured_content["content"] == "done"
        twice = await again(ASKING, first.request_state)
        assert twice.is_error

    async def never(context, params):
        raise AssertionError(json.dumps(params))

    stage.talk(conversation, mode="2026-07-28", elicitation_callback=never)
    assert ran(stage)


def test_an_answer_that_makes_no_sense_means_no_and_the_turn_goes_on(stage, escalated):
    stage.play(escalated, "done", "again")
    text = types.TextContent(type="text", text="yes")
    sense = types.CreateMessageResultWithTools(role="assistant", model="m", content=[text])

    async def conversation(client):
        first = await client.session.call_tool("codex", ASKING, allow_input_required=True)
        done = await client.session.call_tool(
            "codex",
            ASKING,
            input_responses=dict.fromkeys(first.input_requests, sense),
            request_state=first.request_state,
        )
        assert done.structured_content["content"] == "done"
        thread_id = done.structured_content["threadId"]
        again = await client.call_tool("codex-reply", {"prompt": "x", "threadId": thread_id})
        assert again.structured_content["content"] == "again"

    stage.talk(conversation, mode="2026-07-28", elicitation_callback=stage.say("accept"))
    assert not ran(stage)
