"""`ferrule exec` as a process, with a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from ferrule_testkit.model_items import function_call, message

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
HANGING = {"items": [message("partial")], "hang": True}


@pytest.fixture
def schema_file(ferrule_home):
    path = ferrule_home.workspace / "schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


@pytest.fixture
def started(ferrule_home):
    """Starts `ferrule` in the background, and never leaves it there."""
    running = []

    def start(*arguments, stdin=subprocess.DEVNULL):
        process = subprocess.Popen(
            ferrule_home.command(arguments),
            cwd=ferrule_home.workspace,
            env=ferrule_home.environ,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def test_a_plain_turn(run_ferrule, model_server):
    model_server.play([[message("Hello")]])
    run = run_ferrule("exec", "say hello")
    assert (run.returncode, run.stdout) == (0, "Hello\n")
    assert "say hello" in run.stderr


def test_the_prompt_may_come_from_stdin(run_ferrule, model_server):
    model_server.play([[message("Hello")]])
    assert run_ferrule("exec", "-", stdin="piped prompt").returncode == 0
    assert "piped prompt" in json.dumps(model_server.requests[0].body["input"])


def test_an_open_stdin_that_stays_silent_does_not_hang(started, model_server):
    model_server.play([[message("Hello")]])
    reader, writer = os.pipe()
    try:
        assert started("exec", "hi", stdin=reader).wait(120) == 0
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("no_such_tool", {"a": 1}),
        ("write_stdin", {"session_id": 99999, "chars": "x"}),
        ("view_image", {"path": "nope.png"}),
    ],
)
def test_every_call_that_fails_says_so(run_ferrule, model_server, tool, arguments):
    model_server.play([[function_call(tool, arguments)], [message("done")]])
    call = run_ferrule("exec", "--json", "go").items("tool_call")[0]
    assert (call["tool"], call["status"]) == (tool, "failed")
    assert call["arguments"].items() >= arguments.items()
    assert call["error"]["message"]


def test_what_is_typed_into_a_command_shows_as_an_event(run_ferrule, model_server):
    start = function_call("exec_command", {"cmd": "cat", "tty": True, "yield_time_ms": 250})
    answer = [{"items": [{**function_call("write_stdin", {}, call_id="call_2")}]}]
    answer[0]["items"][0]["arguments"] = (
        '{"session_id": {{re:session ID (\\d+)}}, "chars": "hello\\n", "yield_time_ms": 250}'
    )
    model_server.play([[start], *answer, [message("done")]])
    call = run_ferrule("exec", "--json", "go").items("tool_call")[0]
    assert call["tool"] == "write_stdin"
    assert call["arguments"]["chars"] == "hello\n"


def test_an_answer_that_breaks_the_schema_is_repaired_once(run_ferrule, model_server, schema_file):
    model_server.play([[message("42!")], [message('{"answer":"42"}')]])
    run = run_ferrule("exec", "--json", "--output-schema", schema_file, "-o", "last", "go")
    assert run.returncode == 0
    assert [event["type"] for event in run.events if event["type"].startswith("turn.")] == [
        "turn.started",
        "turn.completed",
    ]
    assert run.items("agent_message")[-1]["text"] == '{"answer":"42"}'
    assert run.events[-1]["usage"] == run.events[-1]["thread_usage"]
    assert "not JSON" in json.dumps(model_server.requests[1].body["input"])


def test_an_answer_that_stays_wrong_fails_the_turn(run_ferrule, model_server, schema_file):
    model_server.play([[message("42!")], [message("43!")], [message('{"answer":"42"}')]])
    run = run_ferrule("exec", "--json", "--output-schema", schema_file, "go")
    assert run.returncode == 1
    assert run.events[-1]["type"] == "turn.failed"
    assert "output schema" in run.events[-1]["error"]["message"]
    assert len(model_server.requests) == 2


def test_the_last_message_goes_into_a_file(run_ferrule, model_server, ferrule_home):
    model_server.play([[message("the end")]])
    assert run_ferrule("exec", "-o", "last.txt", "go").returncode == 0
    assert (ferrule_home.workspace / "last.txt").read_text() == "the end"


def test_usage_is_of_the_turn_and_of_the_thread(run_ferrule, model_server):
    model_server.play([[message("one")], [message("two")]])
    first = run_ferrule("exec", "--json", "first").events[-1]
    second = run_ferrule("exec", "--json", "resume", "--last", "second").events[-1]
    assert first["usage"] == first["thread_usage"] == second["usage"]
    assert second["thread_usage"]["input_tokens"] == 2 * first["usage"]["input_tokens"]


def test_resuming_keeps_the_thread_and_forking_makes_another(run_ferrule, model_server):
    model_server.play([[message("one")], [message("two")], [message("three")]])
    thread = run_ferrule("exec", "--json", "first").events[0]["thread_id"]
    resumed = run_ferrule("exec", "--json", "resume", thread, "second")
    forked = run_ferrule("exec", "--json", "fork", thread, "third")
    assert resumed.events[0]["thread_id"] == thread
    assert forked.events[0]["thread_id"] != thread
    history = json.dumps(model_server.requests[2].body["input"])
    assert all(text in history for text in ("first", "one", "second", "two", "third"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("resume", "00000000-0000-4000-8000-000000000000", "x"),
        ("resume", "no-such-name", "x"),
        ("resume", "--last", "x"),
        ("fork", "no-such-name", "x"),
    ],
    ids=["id", "name", "last", "fork"],
)
def test_a_thread_that_does_not_exist_is_an_error(run_ferrule, model_server, arguments):
    run = run_ferrule("exec", "--json", *arguments)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.startswith("Error: ")
    assert not model_server.requests


def test_an_ephemeral_thread_is_not_stored(run_ferrule, model_server, ferrule_home):
    model_server.play([[message("one")]])
    assert run_ferrule("exec", "--ephemeral", "first").returncode == 0
    assert not list(ferrule_home.path.rglob("*.jsonl"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_ends_the_turn_with_its_reason(started, model_server, run_ferrule, number):
    model_server.play([HANGING, [message("after")]])
    process = started("exec", "--json", "wait")
    assert process.stdout is not None
    wait_for(lambda: len(model_server.requests) == 1 and b"partial" in process.stdout.readline())
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert json.loads(out.splitlines()[-1])["error"]["reason"] == "interrupted"
    assert run_ferrule("exec", "resume", "--last", "go on").stdout == "after\n"


def test_an_interrupted_command_leaves_no_process(started, model_server, run_ferrule):
    model_server.play([[function_call("exec_command", {"cmd": "sleep 601"})], [message("late")]])
    process = started("exec", "--json", "wait")
    assert process.stdout is not None
    wait_for(lambda: b"item.started" in process.stdout.readline())
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 1
    assert not run_ferrule("--version").survivors


def test_a_reader_that_goes_away_ends_the_run_quietly(started, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])
    process = started("exec", "--json", "go")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    assert process.returncode == 141
    assert b"Traceback" not in err


def test_max_wait_bounds_the_time_spent_on_retries(run_ferrule, ferrule_home, model_server):
    model_server.play([{"status": 503, "body": "busy", "times": 50}])
    ferrule_home.configure(provider="stream_max_retries = 50\nrequest_max_retries = 0")
    run = run_ferrule("exec", "--json", "--max-wait", "0.5", "go")
    assert run.returncode == 1
    assert "gave up after 0.5 s" in run.events[-1]["error"]["message"]


def test_wrong_usage_exits_with_2_and_says_how(run_ferrule):
    run = run_ferrule("exec", "--no-such-option", "go")
    assert run.returncode == 2
    assert "'--no-such-option'" in run.stderr
    assert "Usage: ferrule exec" in run.stderr


def test_a_folder_that_is_no_repository_needs_a_word(run_ferrule, model_server, tmp_path):
    model_server.play([[message("fine")]])
    folder = tmp_path / "plain"
    folder.mkdir()
    refused = run_ferrule("exec", "-C", str(folder), "go")
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1] == (
        "Not inside a trusted directory and --skip-git-repo-check was not specified."
    )
    assert run_ferrule("exec", "-C", str(folder), "--skip-git-repo-check", "go").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("-C", "/no/such/folder", "x"), "/no/such/folder"),
        (("-p", "nope", "x"), "nope"),
        (("-c", "model_provider=nope", "x"), "nope"),
        (("--output-schema", "nope.json", "x"), "nope.json"),
    ],
    ids=["folder", "profile", "provider", "schema"],
)
def test_what_cannot_be_used_is_named_before_anything_is_asked(
    run_ferrule, model_server, arguments, named
):
    run = run_ferrule("exec", *arguments)
    assert run.returncode == 1
    assert named in run.stderr
    assert "Traceback" not in run.stderr
    assert not model_server.requests


@pytest.mark.parametrize("mode", ["danger-full-access", "external-sandbox"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["human", "json"])
def test_a_run_without_a_sandbox_says_so(run_ferrule, model_server, mode, form):
    model_server.play([[message("done")]])

    finished = run_ferrule("exec", *form, "-s", mode, "go")

    assert finished.returncode == 0
    assert "warning: NO SANDBOX" in finished.stderr


def test_a_budget_ends_the_run_with_its_reason_and_leaves_no_process(run_ferrule, model_server):
    call = function_call("exec_command", {"cmd": "sleep 601", "yield_time_ms": 60_000})
    model_server.play([[call], [message("never")]])

    run = run_ferrule("exec", "--json", "--max-tokens", "100", "go")

    assert run.returncode == 1
    assert run.events[-1]["error"] == {
        "message": "the turn's token budget of 100 is used up: 110 used; raise"
        " `budgets.turn.tokens` to go on",
        "reason": "budget_exceeded",
    }
    assert not run.survivors
    assert len(model_server.requests) == 1


def test_a_run_may_be_bound_in_time(run_ferrule, model_server):
    model_server.play([HANGING])

    run = run_ferrule("exec", "--json", "--max-time", "0.3", "go")

    assert run.events[-1]["error"]["reason"] == "budget_exceeded"
    assert "time budget of 0.3 s is used up" in run.events[-1]["error"]["message"]


def test_a_bound_in_dollars_needs_a_price(run_ferrule, model_server):
    model_server.play([[message("never")]])

    run = run_ferrule("exec", "--max-cost", "1", "go")

    assert run.returncode == 1
    assert "no price is known" in run.stderr
    assert not model_server.requests


@pytest.mark.parametrize("wrong", ["-1", "many", "nan"])
def test_a_bound_that_is_no_number_is_wrong_usage(run_ferrule, wrong):
    run = run_ferrule("exec", "--max-cost", wrong, "go")

    assert run.returncode == 2
    assert "--max-cost" in run.stderr
