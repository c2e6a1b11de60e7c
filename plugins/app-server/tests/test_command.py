"""`ferrule app-server` as a process: options, stdin and stdout, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from ferrule_testkit.model_items import function_call, message


def test_a_whole_turn_over_stdin_and_stdout(app_server, model_server):
    model_server.play([[message("hello")]])
    with app_server() as server:
        server.initialize()
        server.send({"method": "initialized"})
        thread_id = server.call(1, "thread/start", {})["thread"]["id"]
        content = [{"type": "text", "text": "hi"}]
        server.call(2, "turn/start", {"threadId": thread_id, "input": content})
        done = server.until(lambda frame: frame.get("method") == "turn/completed")
        assert done["params"]["turn"]["items"][0]["text"] == "hello"
        server.process.stdin.close()
        assert server.process.wait(120) == 0


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ((), ("--listen", "stdio://")),
        ((), ("--stdio", "-c", 'model="chosen"')),
        (("-c", 'model="chosen"'), ("--enable", "some_feature", "--disable", "another")),
        (("--config", 'model="chosen"'), ()),
    ],
    ids=["listen", "stdio", "enable", "before"],
)
def test_options_stand_before_or_after_the_command(app_server, before, arguments):
    with app_server(*arguments, before=before) as server:
        server.initialize()
        model = server.call(1, "thread/start", {})["model"]
        assert model == ("chosen" if "chosen" in str((before, arguments)) else "gpt-5.5")


def test_what_was_asked_before_the_end_of_stdin_is_answered(run_ferrule):
    lines = [
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}},
        *({"id": n, "method": "thread/loaded/list", "params": {}} for n in range(1, 200)),
    ]
    run = run_ferrule("app-server", stdin="\n".join(json.dumps(line) for line in lines))
    assert run.returncode == 0
    answered = {json.loads(line)["id"] for line in run.stdout.splitlines()}
    assert answered == set(range(200))


def test_sigterm_interrupts_what_runs_and_stores_it(app_server, model_server, rollouts):
    model_server.play([[function_call("exec_command", {"cmd": "sleep 600"})], [message("late")]])
    with app_server() as server:
        server.initialize()
        thread_id = server.call(1, "thread/start", {"sandbox": "danger-full-access"})["thread"][
            "id"
        ]
        content = [{"type": "text", "text": "hi"}]
        server.call(2, "turn/start", {"threadId": thread_id, "input": content})
        server.until(lambda frame: frame.get("method") == "item/started" and "sleep" in str(frame))
        server.process.send_signal(signal.SIGTERM)
        done = server.until(lambda frame: frame.get("method") == "turn/completed")
        assert done["params"]["turn"]["status"] == "interrupted"
        assert server.process.wait(120) == 0
    assert "turn_aborted" in rollouts()[0].read_text()


def test_stdin_closed_and_sigterm_at_once_is_a_good_end(app_server):
    with app_server() as server:
        server.initialize()
        server.process.stdin.close()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(120) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--no-such-option",), 2, "unexpected argument '--no-such-option'"),
        (("--listen", "nonsense"), 1, "is no URL"),
        (("--listen", "carrier-pigeon://x"), 1, "carrier-pigeon"),
        (("-c", "approval_policy=5"), 1, "approval_policy"),
    ],
)
def test_what_cannot_be_served_is_told_at_once(run_ferrule, arguments, code, words):
    run = run_ferrule("app-server", *arguments)
    assert run.returncode == code
    assert words in run.stderr


def test_help_names_the_sub_commands(run_ferrule):
    run = run_ferrule("app-server", "--help")
    assert run.returncode == 0
    for name in ("daemon", "proxy", "generate-json-schema", "generate-ts", "--ws-token-file"):
        assert name in run.stdout


def test_a_message_too_long_is_refused_without_being_kept(app_server):
    with app_server() as server:
        server.initialize()
        piece = b"x" * (1024 * 1024)
        for _ in range(130):
            server.process.stdin.write(piece)
        server.process.stdin.write(b"\n")
        server.process.stdin.flush()
        refused = server.frame()
        assert refused["error"]["code"] == -32700
        assert server.call(1, "thread/loaded/list", {})["data"] == []


def test_a_killed_server_leaves_everything_that_was_told(app_server, model_server):
    steps = [function_call("exec_command", {"cmd": f"echo {n}"}, call_id=f"c{n}") for n in range(3)]
    model_server.play([[steps[0]], [steps[1]], [steps[2]], {"hang": True}])
    told = []
    with app_server() as server:
        server.initialize()
        options = {"sandbox": "danger-full-access", "approvalPolicy": "never"}
        thread_id = server.call(1, "thread/start", options)["thread"]["id"]
        content = [{"type": "text", "text": "hi"}]
        server.send(
            {
                "id": 2,
                "method": "turn/start",
                "params": {"threadId": thread_id, "input": content},
            }
        )
        while len(told) < 4:
            frame = server.until(lambda frame: frame.get("method") == "item/completed")
            told.append(frame["params"]["item"])
        server.process.kill()
        server.process.wait()
    with app_server() as server:
        server.initialize()
        thread = server.call(1, "thread/resume", {"threadId": thread_id})["thread"]
        assert thread["turns"][0]["items"][: len(told)] == told
        assert thread["turns"][0]["status"] == "interrupted"
        assert thread["status"] == {"type": "idle"}


def test_sigterm_is_ignored_once_all_is_closed():
    """The loop takes its signal handlers down then, and would have SIGTERM end the process."""
    script = """
import os, signal, anyio
from ferrule_app_server.serve import _close_ears

async def main():
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP):
        _close_ears()
    os.kill(os.getpid(), signal.SIGTERM)

anyio.run(main)
os.kill(os.getpid(), signal.SIGTERM)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, b"")
