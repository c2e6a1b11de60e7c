"""A kernel that is killed at any moment loses nothing it has told, and leaves nothing running.

A run is `ferrule exec` with a scripted model and real commands in the real sandbox; it is killed
with SIGKILL at a random moment. What a client had read by then must stand in the rollout.
"""

import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ferrule_testkit.home import make_home
from ferrule_testkit.model_items import freeform_call, function_call, message
from ferrule_testkit.processes import survivors

PATCH = "*** Begin Patch\n*** Add File: notes.txt\n+one\n+two\n*** End Patch\n"
LIMIT_S = 120


def conversation():
    return [
        [
            message("I will look around.", id_="m1"),
            function_call(
                "exec_command", {"cmd": "echo one; sleep 0.05; echo two > made.txt"}, call_id="c1"
            ),
        ],
        [freeform_call("apply_patch", PATCH, call_id="c2")],
        [
            function_call(
                "exec_command", {"cmd": f"sleep 0.03; echo parallel {n}"}, call_id=f"p{n}"
            )
            for n in range(3)
        ],
        [
            function_call(
                "exec_command", {"cmd": "sleep 300 & sleep 0.1; echo background"}, call_id="c3"
            )
        ],
        [message("All done.", id_="m2")],
    ]


class Run:
    """One run of the command, with what its client has read so far."""

    def __init__(self, home, arguments):
        self.read = []
        self.process = subprocess.Popen(
            home.command(["exec", "--json", *arguments]),
            cwd=home.workspace,
            env=home.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # what was cut off was not told
                self.read.append(json.loads(line))

    def end(self):
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()


def records_of(home, thread_id):
    (path,) = (home.path / "sessions").glob(f"**/*{thread_id}.jsonl")
    records = []
    for line in path.read_bytes().split(b"\n"):
        try:
            records.append(json.loads(line))
        except ValueError:
            assert line == path.read_bytes().split(b"\n")[-1], "only the last line may be torn"
    return records


def stored_items(records):
    stored = [r["payload"]["item"] for r in records if r["payload"].get("type") == "item_completed"]
    texts = {item["text"] for item in stored if item["type"] == "agentMessage"}
    commands = {(i["command"], i["exitCode"]) for i in stored if i["type"] == "commandExecution"}
    changes = {c["path"] for i in stored if i["type"] == "fileChange" for c in i["changes"]}
    return texts, commands, changes


def check_nothing_told_is_lost(home, told):
    started = [event for event in told if event["type"] == "thread.started"]
    if not started:
        return None
    thread_id = started[0]["thread_id"]
    records = records_of(home, thread_id)
    assert records[0]["type"] == "session_meta"
    texts, commands, changes = stored_items(records)
    for event in told:
        item = event.get("item", {})
        if event["type"] != "item.completed":
            continue
        if item["type"] == "agent_message":
            assert item["text"] in texts
        elif item["type"] == "command_execution":
            assert (item["command"], item["exit_code"]) in commands
        elif item["type"] == "file_change":
            assert {change["path"] for change in item["changes"]} <= changes
    return thread_id


def wait_until_gone(marker):
    """Wait until no process of a run is left."""
    wait_until_nothing(lambda: survivors(marker))


def wait_until_nothing(look):
    """A killed kernel's watchdogs need a moment; nothing may be left after a generous bound."""
    deadline = time.monotonic() + LIMIT_S
    while left := look():
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def crash_once(folder, server, delay):
    home = make_home(folder, server.base_url)
    (folder / "tmp").mkdir()
    home.environ["TMPDIR"] = str(folder / "tmp")
    server.play(conversation())
    run = Run(home, ["go"])
    try:
        run.process.wait(delay)
    except subprocess.TimeoutExpired:
        os.kill(run.process.pid, signal.SIGKILL)
    run.end()
    wait_until_gone(f"FERRULE_HOME={home.path}")
    thread_id = check_nothing_told_is_lost(home, run.read)
    wait_until_nothing(lambda: [*(folder / "tmp").iterdir()])
    expected = (".git", "made.txt", "notes.txt")
    wait_until_nothing(lambda: [p for p in home.workspace.iterdir() if p.name not in expected])
    if thread_id is not None:
        check_it_resumes(home, server, thread_id)


def check_it_resumes(home, server, thread_id):
    server.play([[message("Back again.")]])
    finished = home.run("exec", "--json", "resume", thread_id, "and now?")
    assert finished.returncode == 0, finished.stderr
    assert finished.items("agent_message")[-1]["text"] == "Back again."
    sent = server.requests[-1].body["input"]
    calls = [i["call_id"] for i in sent if i["type"] in ("function_call", "custom_tool_call")]
    outputs = [i["call_id"] for i in sent if i["type"].endswith("_output")]
    assert sorted(calls) == sorted(outputs), "every call has its output"


@pytest.mark.parametrize("batch", range(2))
def test_a_kernel_that_is_killed_loses_nothing_it_has_told(batch, tmp_path, model_server):
    crash_batch(tmp_path, model_server, seed=batch, runs=5)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("batch", range(2, 21))
def test_two_hundred_kills_lose_nothing(batch, tmp_path, model_server):
    crash_batch(tmp_path, model_server, seed=batch, runs=10)


def crash_batch(folder: Path, server, *, seed: int, runs: int):
    delays = random.Random(seed)
    for number in range(runs):
        crash_once(folder / str(number), server, delays.uniform(0.1, 1.6))
