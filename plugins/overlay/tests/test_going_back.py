"""`thread/rollback` with `files` and `ferrule changes rewind`, in real sessions."""

import json
import sys
from contextlib import contextmanager

import pytest

from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.model_items import message
from ferrule_testkit.protocol_frames import FrameChecker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")

EDIT = "*** Begin Patch\n*** Update File: kept.txt\n@@\n one\n-two\n+2\n*** End Patch"


def shell(command, call_id):
    arguments = json.dumps({"cmd": command})
    return {
        "type": "function_call",
        "id": f"f_{call_id}",
        "call_id": call_id,
        "name": "exec_command",
        "arguments": arguments,
    }


def patch(text, call_id):
    return {
        "type": "custom_tool_call",
        "id": f"x_{call_id}",
        "call_id": call_id,
        "name": "apply_patch",
        "input": text,
    }


@pytest.fixture
def workspace(ferrule_home, model_server):
    """A workspace, and a model that writes, patches and deletes in three turns, then looks."""
    (ferrule_home.workspace / "kept.txt").write_text("one\ntwo\n")
    (ferrule_home.workspace / "old.txt").write_text("old\n")
    model_server.play(
        [
            [shell("echo new > new.txt", "c1")],
            [message("first")],
            [patch(EDIT, "c2"), shell("mkdir made; echo x > made/x", "c3")],
            [message("second")],
            [shell("rm -r old.txt new.txt made", "c4")],
            [message("third")],
            [shell("cat kept.txt old.txt; echo *", "look")],
            [message("fourth")],
        ]
    )
    return ferrule_home.workspace


class Talk:
    """A client of `ferrule app-server`; every frame is checked against the schema."""

    def __init__(self, process):
        self._process = process
        self._checker = FrameChecker()
        self._number = 0
        self.warnings = []

    def ask(self, method, **params):
        """Ask for something; returns the whole reply."""
        self._number += 1
        frame = {"id": self._number, "method": method, "params": params}
        self._checker.sent(frame)
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()
        return self.until(lambda frame: frame.get("id") == self._number)

    def until(self, found):
        for line in self._process.stdout:
            frame = json.loads(line)
            self._checker.received(frame)
            if frame.get("method") == "warning":
                self.warnings.append(frame["params"]["message"])
            if found(frame):
                return frame
        raise AssertionError("the server ended")

    def thread(self, **params):
        return self.ask("thread/start", **params)["result"]["thread"]["id"]

    def turn(self, thread_id):
        self.ask("turn/start", threadId=thread_id, input=[{"type": "text", "text": "go"}])
        ended = self.until(lambda frame: frame.get("method") == "turn/completed")
        assert ended["params"]["turn"]["status"] == "completed"
        return ended["params"]["turn"]["id"]

    def roll_back(self, thread_id, turns, **more):
        return self.ask("thread/rollback", threadId=thread_id, numTurns=turns, **more)


@pytest.fixture
def talking(ferrule_home):
    @contextmanager
    def start(**config):
        with AppServerProcess(ferrule_home) as server:
            talk = Talk(server.process)
            about = {"clientInfo": {"name": "tester", "version": "1"}}
            assert "result" in talk.ask("initialize", **about)
            yield talk
            server.process.stdin.close()
            server.process.wait()

    return start


def seen(model_server):
    """What the model saw when it looked."""
    (output,) = {
        str(item["output"])
        for request in model_server.requests
        for item in request.body["input"]
        if item["type"].endswith("_output") and item["call_id"] == "look"
    }
    return output.replace("\\n", "\n")


def pending(run_ferrule):
    listed = run_ferrule("changes", "--json")
    assert listed.returncode == 0, listed.stderr
    return {each["path"]: each["kind"] for each in json.loads(listed.stdout)["changes"]}


@pytest.mark.parametrize(("turns", "files"), [(1, True), (2, True), (2, False)])
def test_turns_are_taken_back_with_their_files_where_that_is_asked_for(
    ferrule_home, talking, workspace, model_server, run_ferrule, turns, files
):
    ferrule_home.configure(top="overlay = true")
    with talking() as talk:
        thread = talk.thread()
        ids = [talk.turn(thread) for _ in range(3)]
        more = {"files": True} if files else {}

        reply = talk.roll_back(thread, turns, **more)

        left = [turn["id"] for turn in reply["result"]["thread"]["turns"]]
        assert left == ids[:-turns]
        talk.turn(thread)
        assert not talk.warnings
    output = seen(model_server)
    if not files:
        assert "one\n2\n" in output
        assert "old.txt: No such file" in output
        assert pending(run_ferrule) == {"kept.txt": "modified", "old.txt": "deleted"}
    elif turns == 1:
        assert "one\n2\nold\nkept.txt made new.txt old.txt" in output
        assert pending(run_ferrule) == {
            "kept.txt": "modified",
            "made": "added",
            "made/x": "added",
            "new.txt": "added",
        }
    else:
        assert "one\ntwo\nold\nkept.txt new.txt old.txt" in output
        assert pending(run_ferrule) == {"new.txt": "added"}
    assert (workspace / "kept.txt").read_text() == "one\ntwo\n"
    assert not (workspace / "new.txt").exists()


def test_files_before_a_certain_turn_come_back_by_revert(
    ferrule_home, talking, workspace, run_ferrule
):
    ferrule_home.configure(top="overlay = true")
    with talking() as talk:
        thread = talk.thread()
        ids = [talk.turn(thread) for _ in range(3)]
        reply = talk.ask("thread/revert", threadId=thread, beforeTurnId=ids[1], files=True)
        assert "result" in reply
    assert pending(run_ferrule) == {"new.txt": "added"}


def test_without_an_overlay_files_are_not_taken_back_and_nothing_is_changed(talking, workspace):
    with talking() as talk:
        thread = talk.thread()
        turn = talk.turn(thread)
        reply = talk.roll_back(thread, 1, files=True)
        assert "begin the thread with --overlay" in reply["error"]["message"]
        read = talk.ask("thread/read", threadId=thread, includeTurns=True)
        assert [each["id"] for each in read["result"]["thread"]["turns"]] == [turn]
        assert "result" in talk.roll_back(thread, 1)
    assert (workspace / "new.txt").exists()


def test_what_was_applied_since_is_named(ferrule_home, talking, workspace, run_ferrule):
    ferrule_home.configure(top="overlay = true")
    with talking() as talk:
        thread = talk.thread()
        talk.turn(thread)
        talk.turn(thread)
    assert run_ferrule("changes", "apply", "--file", "kept.txt").returncode == 0
    with talking() as talk:
        talk.ask("thread/resume", threadId=thread)
        reply = talk.roll_back(thread, 1, files=True)
        assert "batch 1 changed the workspace after that turn" in reply["error"]["message"]
    assert run_ferrule("changes", "rollback").returncode == 0
    with talking() as talk:
        talk.ask("thread/resume", threadId=thread)
        assert "result" in talk.roll_back(thread, 1, files=True)
    assert pending(run_ferrule) == {"new.txt": "added"}


def test_the_command_goes_back_and_forward(run_ferrule, workspace):
    options = ("--skip-git-repo-check", "go")
    assert run_ferrule("exec", "--overlay", *options).returncode == 0
    for _ in range(2):
        assert run_ferrule("exec", "resume", "--last", *options).returncode == 0
    last = pending(run_ferrule)
    assert last == {"kept.txt": "modified", "old.txt": "deleted"}

    back = run_ferrule("changes", "rewind")
    assert back.returncode == 0, back.stderr
    assert "as it was: old.txt" in back.stdout
    assert "ferrule changes rewind --undo" in back.stdout
    assert set(pending(run_ferrule)) == {"kept.txt", "made", "made/x", "new.txt"}
    further = run_ferrule("changes", "rewind", "--turns", "1", "--json")
    places = json.loads(further.stdout)["done"]
    assert str(workspace / "made/x") in places
    assert pending(run_ferrule) == {"new.txt": "added"}
    too_far = run_ferrule("changes", "rewind", "--turns", "5")
    assert too_far.returncode == 1
    assert "give --turns a number from 1 to 1" in too_far.stderr
    assert run_ferrule("changes", "rewind", "--undo").returncode == 0
    assert set(pending(run_ferrule)) == {"kept.txt", "made", "made/x", "new.txt"}
    for wrong in (("rewind", "--undo", "--turns", "1"), ("apply", "--undo")):
        assert run_ferrule("changes", *wrong).returncode == 2
