"""Whole turns of `ferrule exec` over the Messages API; the server refuses malformed requests."""

import json
import shutil
import signal
import subprocess

import pytest

from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

PATCH = """\
*** Begin Patch
*** Add File: note.txt
+written
*** End Patch
"""


@pytest.fixture
def home(ferrule_home):
    ferrule_home.configure(wire_api="anthropic")
    return ferrule_home


@pytest.fixture
def run(home):
    """Run `exec --json` in a configured home; the run must have ended well."""

    def run_exec(*arguments, **more):
        done = home.run("exec", "--json", *arguments, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run_exec


def command(text, call_id="call_1"):
    return function_call("exec_command", {"cmd": text}, call_id=call_id)


def content_of(request, at=-1):
    return request.body["messages"][at]["content"]


def test_thinking_a_command_and_an_answer(model_server, run):
    model_server.play([[reasoning("let me see"), command("echo from-the-shell")], [message("Yes")]])
    done = run("look")
    kinds = [item["type"] for item in done.items()]
    assert kinds == ["reasoning", "command_execution", "agent_message"]
    assert done.items("agent_message")[0]["text"] == "Yes"
    first, second = model_server.requests
    thinking, call = content_of(second, -2)
    assert (thinking["type"], call["type"]) == ("thinking", "tool_use")
    (result,) = content_of(second)
    assert result["tool_use_id"] == "call_1"
    assert "from-the-shell" in result["content"][0]["text"]
    assert first.body["system"] == second.body["system"]
    assert first.body["tools"] == second.body["tools"]
    usage = done.events[-1]["usage"]
    assert (usage["input_tokens"], usage["cached_input_tokens"]) == (200, 100)


def test_calls_in_parallel_are_answered_together(model_server, run):
    calls = [command(f"echo number-{each}", call_id=f"c{each}") for each in range(3)]
    model_server.play([[*calls, message("while they run")], [message("done")]])
    run("do three things")
    said, results = (content_of(model_server.requests[1], at) for at in (-2, -1))
    assert [block["type"] for block in said] == ["tool_use"] * 3 + ["text"]
    assert [block["tool_use_id"] for block in results] == ["c0", "c1", "c2"]
    for each, block in enumerate(results):
        assert f"number-{each}" in block["content"][0]["text"]


def test_a_patch_is_applied(model_server, home, run):
    model_server.play([[freeform_call("apply_patch", PATCH)], [message("patched")]])
    done = run("write a note")
    assert (home.workspace / "note.txt").read_text() == "written\n"
    assert done.items("file_change")[0]["status"] == "completed"
    (call,) = content_of(model_server.requests[1], -2)
    assert (call["name"], call["input"]) == ("apply_patch", {"input": PATCH})


def test_a_patch_that_was_cut_off_is_not_applied(model_server, home):
    block = {"type": "tool_use", "id": "c", "name": "apply_patch", "input": {}}
    piece = json.dumps({"input": PATCH})[:-10]
    delta = {"type": "input_json_delta", "partial_json": piece}
    events = [
        {"type": "message_start", "message": {"id": "msg_1"}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
        {"type": "message_stop"},
    ]
    model_server.play([{"events": events}])
    done = home.run("exec", "--json", "write a note")
    assert done.returncode == 1
    assert "settings.max_tokens" in done.events[-1]["error"]["message"]
    assert not (home.workspace / "note.txt").exists()


def test_an_unknown_tool_and_a_failed_command_are_told_to_the_model(model_server, run):
    calls = [function_call("no_such_tool", {}), command("exit 3", call_id="c2")]
    model_server.play([calls, [message("I see")]])
    run("try")
    unknown, failed = content_of(model_server.requests[1])
    assert "unsupported call: no_such_tool" in unknown["content"][0]["text"]
    assert "exited with code 3" in failed["content"][0]["text"]


def test_a_long_output_is_shortened(model_server, run):
    model_server.play([[command("seq 1 200000")], [message("long")]])
    run("count")
    (result,) = content_of(model_server.requests[1])
    assert 1_000 < len(result["content"][0]["text"]) < 100_000


def test_a_key_that_is_refused_ends_the_turn_with_the_mend(model_server, home):
    error = {"type": "authentication_error", "message": "invalid x-api-key"}
    model_server.play([{"status": 401, "body": {"type": "error", "error": error}}])
    done = home.run("exec", "--json", "hello")
    assert done.returncode == 1
    assert "set `SCRIPTED_KEY` to a valid one" in done.events[-1]["error"]["message"]


def test_an_overloaded_model_is_asked_again(model_server, run):
    error = {"type": "overloaded_error", "message": "Overloaded"}
    overloaded = {"status": 529, "body": {"type": "error", "error": error}}
    model_server.play([overloaded, [message("at last")]])
    assert run("hello").items("agent_message")[0]["text"] == "at last"


def test_a_stream_that_broke_off_goes_on_where_it_ended(model_server, run):
    model_server.play(
        [
            {"items": [reasoning("hm"), message("The first half")], "no_completed": True},
            [message("and the second.")],
        ]
    )
    texts = [item["text"] for item in run("tell me").items("agent_message")]
    assert texts == ["The first half", "and the second."]
    asked = model_server.requests[1].body["messages"]
    assert [each["role"] for each in asked[-2:]] == ["assistant", "user"]
    assert "cut off" in asked[-1]["content"][0]["text"]


def test_an_interrupted_turn_is_resumed(model_server, home, run):
    model_server.play([[reasoning("slowly"), command("echo started; sleep 60")]])
    arguments = home.command(["exec", "--json", "wait"])
    process = subprocess.Popen(
        arguments, cwd=home.workspace, env=home.environ, stdout=subprocess.PIPE, text=True
    )
    with process:
        for line in process.stdout:
            if '"command_execution"' in line:
                process.send_signal(signal.SIGINT)
                break
        process.stdout.read()
    model_server.play([[message("resumed")]])
    done = run("resume", "--last", "go on")
    assert done.items("agent_message")[-1]["text"] == "resumed"
    messages = model_server.requests[-1].body["messages"]
    (call,) = [block for block in messages[-2]["content"] if block["type"] == "tool_use"]
    results = [block for block in messages[-1]["content"] if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in results] == [call["id"]]
    assert messages[-1]["content"][-1]["text"] == "go on"


def test_a_resumed_thread_sends_the_same_bytes_before_what_is_new(model_server, run):
    model_server.play([[reasoning("why"), command("echo x")], [message("one")]])
    run("first")
    model_server.play([[message("two")]])
    run("resume", "--last", "second")
    before, after = (request.body for request in model_server.requests[-2:])
    for each in (before, after):
        strip_marks(each)
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert (after["system"], after["tools"]) == (before["system"], before["tools"])


def strip_marks(body):
    blocks = [block for each in body["messages"] for block in each["content"]]
    for block in (*blocks, *body["system"], *body["tools"]):
        block.pop("cache_control", None)
