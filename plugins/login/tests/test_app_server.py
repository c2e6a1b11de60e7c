"""`ferrule app-server` with the account methods: a person signs in, and the next turn uses it."""

from __future__ import annotations

import json
import subprocess

import httpx
import pytest

from ferrule_testkit.model_items import message
from ferrule_testkit.protocol_frames import FrameChecker


class Conversation:
    """A client of `ferrule app-server` over stdin and stdout; every frame is checked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.frames = FrameChecker()
        self.heard: list[dict] = []
        self.count = 0

    def call(self, method, params=None):
        self.count += 1
        request = {"id": self.count, "method": method}
        if params is not None:
            request["params"] = params
        self.frames.sent(request)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._read(lambda frame: frame.get("id") == self.count and "method" not in frame)

    def until(self, method):
        for frame in self.heard:
            if frame.get("method") == method:
                return frame["params"]
        return self._read(lambda frame: frame.get("method") == method)["params"]

    def methods(self):
        return [frame.get("method", "reply") for frame in self.heard]

    def _read(self, is_wanted):
        for line in self.process.stdout:
            frame = json.loads(line)
            self.frames.received(frame)
            self.heard.append(frame)
            if is_wanted(frame):
                return frame
        raise AssertionError("the server has ended")


@pytest.fixture
def connect(person):
    """Start a server with the configuration as it is then, and connect to it."""

    def run():
        process = subprocess.Popen(
            person.home.command(["app-server"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=person.home.workspace,
            env=person.home.environ,
        )
        person.started.append(process)
        conversation = Conversation(process)
        who = {"name": "test", "version": "1"}
        capabilities = {"experimentalApi": True}
        conversation.call("initialize", {"clientInfo": who, "capabilities": capabilities})
        return conversation

    return run


@pytest.fixture
def client(connect):
    return connect()


def _turn(client, model_server):
    model_server.play([[message("hello")]])
    thread = client.call("thread/start", {})["result"]["thread"]["id"]
    said = [{"type": "text", "text": "hi"}]
    client.call("turn/start", {"threadId": thread, "input": said})
    return client.until("turn/completed")["turn"]


def test_a_person_signs_in_and_the_next_turn_uses_it(client, person, issuer, model_server):
    begun = client.call("account/login/start", {"type": "chatgpt"})["result"]
    page = httpx.get(begun["authUrl"], follow_redirects=True, timeout=120)
    assert "Signed in" in page.text
    assert client.until("account/updated") == {"authMode": "chatgpt", "planType": "pro"}
    assert client.call("account/read", {})["result"]["account"]["email"] == "ada@example.com"

    assert _turn(client, model_server)["status"] == "completed"
    token = person.stored()["tokens"]["access_token"]
    assert model_server.requests[0].headers["authorization"] == f"Bearer {token}"
    assert not any(token in json.dumps(frame) for frame in client.heard)


def test_a_running_server_takes_note_of_a_sign_in_elsewhere(client, person, model_server):
    thread = client.call("thread/start", {})["result"]["thread"]["id"]
    command = person.home.command(["login", "--with-api-key"])
    subprocess.run(command, input=b"sk-elsewhere-01", env=person.home.environ, check=True)
    assert client.call("account/read", {})["result"]["account"] == {"type": "apiKey"}
    model_server.play([[message("hello")]])
    said = [{"type": "text", "text": "hi"}]
    client.call("turn/start", {"threadId": thread, "input": said})
    assert client.until("turn/completed")["turn"]["status"] == "completed"
    assert model_server.requests[0].headers["authorization"] == "Bearer sk-elsewhere-01"


def test_what_changed_is_told_after_the_reply(client):
    client.heard.clear()
    client.call("account/login/start", {"type": "apiKey", "apiKey": "sk-a-0123456789"})
    client.until("account/updated")
    assert client.methods() == ["reply", "account/login/completed", "account/updated"]
    client.heard.clear()
    client.call("account/logout")
    client.until("account/updated")
    assert client.methods() == ["reply", "account/updated"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"type": "nope"}, "unknown variant `nope`, expected one of `apiKey`, `chatgpt`,"),
        ({"type": "apiKey"}, "missing field `apiKey`"),
        ({}, "missing field `type`"),
    ],
)
def test_parameters_are_refused_in_the_words_clients_know(client, params, words):
    error = client.call("account/login/start", params)["error"]
    assert error["code"] == -32600
    assert words in error["message"]


def test_a_key_kept_in_memory_serves_the_server_that_has_it(person, connect, model_server):
    top = 'cli_auth_credentials_store = "ephemeral"'
    person.home.configure(top=top, provider="requires_openai_auth = true")
    client = connect()
    client.call("account/login/start", {"type": "apiKey", "apiKey": "sk-ephemeral-1"})
    assert _turn(client, model_server)["status"] == "completed"
    assert model_server.requests[0].headers["authorization"] == "Bearer sk-ephemeral-1"
    assert not person.auth_file.exists()
