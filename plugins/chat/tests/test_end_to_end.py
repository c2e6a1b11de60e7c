"""Whole turns of the command over Chat Completions, tools and sandbox included."""

import pytest

from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

PATCH = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n"


@pytest.fixture(autouse=True)
def _over_chat(ferrule_home):
    ferrule_home.configure(wire_api="chat")


def shell(command, call_id="call_1"):
    return function_call("exec_command", {"cmd": command}, call_id=call_id)


def roles_of(request):
    return [message["role"] for message in request.body["messages"]]


def test_a_command_runs_and_its_output_goes_back(model_server, run_ferrule):
    model_server.play(
        [[reasoning("look"), message("I look."), shell("echo hi")], [message("done")]]
    )
    run = run_ferrule("exec", "--json", "say hi")
    assert run.returncode == 0, run.stderr
    (command,) = run.items("command_execution")
    assert (command["aggregated_output"], command["exit_code"]) == ("hi\n", 0)
    assert [item["text"] for item in run.items("agent_message")] == ["I look.", "done"]
    second = model_server.requests[1]
    assert second.path == "/v1/chat/completions"
    *_, called, answered = second.body["messages"]
    assert called["content"] == "I look."
    assert called["tool_calls"][0]["function"]["name"] == "exec_command"
    assert answered["role"] == "tool"
    assert "hi" in answered["content"]
    assert run.survivors == {}


def test_parallel_calls_share_one_message(model_server, run_ferrule):
    model_server.play([[shell("echo a", "c1"), shell("echo b", "c2")], [message("done")]])
    run = run_ferrule("exec", "--json", "two")
    outputs = {item["aggregated_output"] for item in run.items("command_execution")}
    assert outputs == {"a\n", "b\n"}
    *_, called, first, second = model_server.requests[1].body["messages"]
    assert [call["id"] for call in called["tool_calls"]] == ["c1", "c2"]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["c1", "c2"]


def test_a_patch_is_applied(model_server, ferrule_home, run_ferrule):
    model_server.play([[freeform_call("apply_patch", PATCH)], [message("done")]])
    run = run_ferrule("exec", "--json", "make it")
    assert (ferrule_home.workspace / "made.txt").read_text() == "made\n", run.stdout
    assert [item["status"] for item in run.items("file_change")] == ["completed"]


def test_a_failed_command_is_told_to_the_model(model_server, run_ferrule):
    model_server.play([[shell("exit 3")], [message("it failed")]])
    run = run_ferrule("exec", "--json", "fail")
    assert run.items("command_execution")[0]["exit_code"] == 3
    assert "3" in model_server.requests[1].body["messages"][-1]["content"]


def test_arguments_nobody_can_read_are_answered(model_server, run_ferrule):
    broken = {**shell("x"), "arguments": '{"cmd": '}
    model_server.play([[broken], [message("sorry")]])
    run = run_ferrule("exec", "--json", "go")
    assert run.returncode == 0
    *_, called, answered = model_server.requests[1].body["messages"]
    assert answered["content"].startswith("failed to parse function arguments")
    assert called["tool_calls"][0]["function"]["arguments"] == '{"input": "{\\"cmd\\": "}'


def test_a_long_output_is_cut_before_it_goes_back(model_server, run_ferrule):
    model_server.play([[shell("seq 1 200000")], [message("long")]])
    run = run_ferrule("exec", "--json", "count")
    assert run.returncode == 0
    assert len(model_server.requests[1].raw) < 200_000


def test_a_broken_stream_is_tried_again(model_server, run_ferrule):
    cut = {"items": [message("one two three")], "cut_after": 2}
    model_server.play([cut, {"status": 500}, [message("whole")]])
    run = run_ferrule("exec", "--json", "go")
    assert run.items("agent_message")[-1]["text"] == "whole"


def test_an_error_names_its_cause(model_server, run_ferrule):
    model_server.play(
        [{"status": 404, "body": {"error": {"message": "model 'gpt-5.5' not found"}}}]
    )
    run = run_ferrule("exec", "go")
    assert run.returncode == 1
    assert "scripted has no model 'gpt-5.5'" in run.stderr


def test_tools_are_called_in_text_where_the_server_refuses_them(model_server, run_ferrule):
    refusal = {"error": {"message": "library/tiny does not support tools", "type": "api_error"}}
    call = '```tool\n{"name": "exec_command", "arguments": {"cmd": "echo hi"}}\n```'
    patch = f"```tool apply_patch\n{PATCH}```"
    model_server.play(
        [
            {"status": 400, "body": refusal},
            [message(f"I run it.\n{call}\n{patch}\n")],
            [message("It said hi.")],
        ]
    )
    run = run_ferrule("exec", "--json", "say hi")
    assert run.returncode == 0, run.stdout
    assert run.items("command_execution")[0]["aggregated_output"] == "hi\n"
    assert [item["status"] for item in run.items("file_change")] == ["completed"]
    assert [item["text"] for item in run.items("agent_message")] == ["I run it.\n", "It said hi."]
    assert "does not support tools" in run.items("reasoning")[0]["text"]
    first, second, third = model_server.requests
    assert "tools" in first.body
    assert "tools" not in second.body
    assert "tools" not in third.body
    assert "## exec_command" in second.body["messages"][0]["content"]
    *_, called, answered = third.body["messages"]
    assert called == {"role": "assistant", "content": called["content"]}
    assert "echo hi" in called["content"]
    assert answered["role"] == "user"
    assert '<tool_result name="exec_command">' in answered["content"]
