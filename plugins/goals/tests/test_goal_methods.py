"""Goals as a client of the app-server sets, reads and clears them."""

from __future__ import annotations

import json
import subprocess

import pytest

from ferrule_testkit.model_items import function_call, message


class Client:
    """A client of `ferrule app-server` on pipes."""

    def __init__(self, home) -> None:
        self._process = subprocess.Popen(
            home.command(("app-server",)),
            cwd=home.workspace,
            env=home.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.told = []
        self._id = 0

    def call(self, method, **params):
        """Ask, and read until the reply."""
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        reply = self.until(lambda frame: frame.get("id") == self._id)
        return reply.get("result", reply.get("error"))

    def notify(self, method):
        self._send({"method": method})

    def until(self, is_it):
        """Read until a message."""
        for frame in self.told:
            if is_it(frame):
                return frame
        while True:
            frame = json.loads(self._process.stdout.readline())
            self.told.append(frame)
            if is_it(frame):
                return frame

    def heard(self, method):
        return [each["params"] for each in self.told if each.get("method") == method]

    def _send(self, frame):
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def close(self):
        self._process.stdin.close()
        self._process.wait(120)
        self._process.stdout.close()


@pytest.fixture
def client(ferrule_home):
    made = Client(ferrule_home)
    made.call("initialize", clientInfo={"name": "test", "version": "0"})
    made.notify("initialized")
    yield made
    made.close()


def ended(frame):
    return frame.get("method") == "turn/completed"


def test_a_goal_that_a_client_sets_is_worked_on_at_once(client, model_server):
    done = [function_call("update_goal", {"status": "complete"})]
    model_server.play([[message("a step")], done, [message("reached")]])
    thread = client.call("thread/start")["thread"]["id"]

    goal = client.call("thread/goal/set", threadId=thread, objective="tidy up", tokenBudget=900)
    client.until(ended)

    assert goal["goal"]["status"] == "active"
    assert goal["goal"]["tokenBudget"] == 900
    assert "tidy up" in json.dumps(model_server.requests[0].body["input"])
    assert [each["goal"]["status"] for each in client.heard("thread/goal/updated")] == [
        "active",
        "complete",
    ]
    assert (
        client.heard("thread/goal/updated")[1]["turnId"]
        == client.until(ended)["params"]["turn"]["id"]
    )
    read = client.call("thread/goal/get", threadId=thread)
    assert read["goal"]["status"] == "complete"
    assert read["goal"]["tokensUsed"] > 0


def test_a_goal_can_be_changed_and_cleared(client, model_server):
    thread = client.call("thread/start")["thread"]["id"]
    assert client.call("thread/goal/get", threadId=thread)["goal"] is None

    wish = {"threadId": thread, "objective": "later", "status": "paused"}
    assert client.call("thread/goal/set", **wish)["goal"]["status"] == "paused"
    more = client.call("thread/goal/set", threadId=thread, status="paused", tokenBudget=50)
    assert more["goal"]["tokenBudget"] == 50
    assert more["goal"]["objective"] == "later"

    assert client.call("thread/goal/clear", threadId=thread) == {"cleared": True}
    assert client.call("thread/goal/clear", threadId=thread) == {"cleared": False}
    assert client.heard("thread/goal/cleared") == [{"threadId": thread}]
    assert not model_server.requests


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"status": "paused"}, "has no goal"),
        ({"objective": " "}, "must not be empty"),
        ({"objective": "x", "tokenBudget": 0}, "above zero"),
    ],
)
def test_what_is_no_goal_is_refused(client, model_server, params, words):
    thread = client.call("thread/start")["thread"]["id"]

    assert words in client.call("thread/goal/set", threadId=thread, **params)["message"]
    assert not model_server.requests


def test_a_thread_that_is_not_open_has_no_goal_to_ask_for(client):
    assert "thread not found" in client.call("thread/goal/get", threadId="nobody")["message"]


def test_a_review_is_no_work_on_the_goal(client, model_server):
    model_server.play([[message("not yet")]] * 30)
    thread = client.call("thread/start")["thread"]["id"]
    client.call("thread/goal/set", threadId=thread, objective="tidy up")
    turn = client.until(ended)["params"]["turn"]["id"]
    asked = len(model_server.requests)
    used = client.call("thread/goal/get", threadId=thread)["goal"]["tokensUsed"]

    target = {"type": "custom", "instructions": "look at the locks"}
    client.call("review/start", threadId=thread, target=target)
    client.until(lambda frame: ended(frame) and frame["params"]["turn"]["id"] != turn)

    assert len(model_server.requests) == asked + 1
    assert client.call("thread/goal/get", threadId=thread)["goal"]["tokensUsed"] == used
