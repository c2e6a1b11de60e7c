"""Who is let in, and conversations with a real server through the transport."""

import json
import time
from pathlib import Path

import pytest

from ferrule_testkit import TransportConformance
from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.model_items import function_call, message
from gallery_webhook.request import LIMIT
from gallery_webhook.signature import WINDOW_S, Guard, RefusedError, signed
from gallery_webhook.transport import WebhookTransport

CHECKOUT = str(Path(__file__).parents[1])
SECRET = "a secret of both sides"
URL = "webhook://127.0.0.1:0"
ESCALATED = {
    "cmd": "echo r''an",
    "sandbox_permissions": "require_escalated",
    "justification": "to test",
}


class TestWebhookTransport(TransportConformance):
    """The rules of the contract that are not about clients who speak the server's protocol.

    This transport speaks it for them, so that there are no bytes to hand over; the rest of the
    suite is replaced by the conversations below.
    """

    url = URL
    open_url = URL  # without a secret it is refused anywhere

    test_a_message_arrives_whole_and_so_does_its_answer = None
    test_a_large_message_is_one_message = None
    test_messages_come_in_their_order = None
    test_what_is_no_message_ends_nobody_else = None
    test_clients_are_told_apart = None
    test_a_client_that_leaves_is_forgotten = None
    test_a_server_that_ends_a_client_ends_its_connection = None
    test_a_fault_of_the_server_ends_no_other_client = None
    test_it_ends_when_it_is_cancelled_and_can_begin_again = None

    def make(self, context):
        """Return the transport."""
        return WebhookTransport(context)


@pytest.fixture
def server(ferrule_home):
    """A real server that listens for webhooks; yields its URL."""
    ferrule_home.configure(
        tables=f'[plugins.settings.webhook]\nsecret = "{SECRET}"\nresponse_hosts = ["127.0.0.1"]\n'
    )
    options = ["-c", 'approval_policy="on-request"']
    environ = {"FERRULE_DEV_PLUGIN": CHECKOUT}
    with AppServerProcess(ferrule_home, URL, options=options, environ=environ) as running:
        yield running.urls["webhook"]


def test_a_conversation_is_a_thread(server, chat, model_server):
    model_server.play([[message("hello, Ann")], [message("as I said")]])

    first = chat.say(server, "I am Ann")
    heard = [chat.hear()]
    chat.say(server, "who am I?")
    heard.append(chat.hear())

    assert first.status_code == 202
    assert [each["text"] for each in heard] == ["hello, Ann", "as I said"]
    assert {(each["conversation"], each["status"]) for each in heard} == {("general", "completed")}
    assert all(each["is_signed"] for each in heard)
    assert "I am Ann" in json.dumps(model_server.requests[1].body["input"])


@pytest.mark.parametrize(
    ("decision", "ran"), [pytest.param("accept", True, marks=pytest.mark.slow), ("decline", False)]
)
def test_an_approval_is_a_message_with_buttons(server, chat, model_server, decision, ran):
    model_server.play([[function_call("exec_command", ESCALATED)], [message("done")]])

    chat.say(server, "run it")
    question = chat.hear()
    labels = [action["label"] for action in question["actions"]]
    (pressed,) = [each for each in question["actions"] if each["decision"] == decision]
    elsewhere = chat.post(server, {"conversation": "another", "action": pressed})
    answered = chat.post(server, {"conversation": "general", "action": pressed})
    pressed["label"] = "once more"  # else it would be the very same message
    again = chat.post(server, {"conversation": "general", "action": pressed})
    end = chat.hear()

    assert "echo r" in question["text"]
    assert labels == ["Approve", "Refuse"]
    assert (elsewhere.status_code, answered.status_code, again.status_code) == (410, 200, 410)
    assert end["text"] == "done"
    output = model_server.requests[-1].body["input"][-1]["output"]
    assert ("\nran" in output) is ran


@pytest.mark.slow
def test_whoever_cannot_sign_is_refused_and_nothing_begins(server, chat, model_server):
    told = {"conversation": "c", "text": "x", "response_url": f"http://127.0.0.1:{chat.port}/"}
    body = json.dumps(told).encode()
    headers = signed(SECRET, body, time.time())
    model_server.play([[message("once")]])

    statuses = [
        chat.post(server, told, secret="another secret").status_code,
        chat.post(server, told, headers={"x-timestamp": str(int(time.time()))}).status_code,
        chat.post(server, told, now=time.time() - WINDOW_S - 60).status_code,
        chat.post(server, told | {"text": "other"}, headers=headers).status_code,
        chat.post(server, body, headers=headers).status_code,
        chat.post(server, body, headers=headers).status_code,
    ]

    assert statuses == [401, 401, 401, 401, 202, 401]
    assert chat.hear()["text"] == "once"
    assert len(model_server.requests) == 1


@pytest.mark.slow
def test_what_is_no_message_is_refused_and_others_are_served(server, chat, model_server):
    model_server.play([[message("still here")]])
    places = ("http://10.0.0.1/", "http://127.0.0.1:99999/", "http://127.0.0.1/\x01", "127.0.0.1")
    elsewhere = [{"conversation": "c", "text": "x", "response_url": place} for place in places]

    for wrong in (b"", b"{", b"[]", {"conversation": "c"}, *elsewhere, b"x" * (LIMIT + 1)):
        assert chat.post(server, wrong).status_code in (400, 413)
    chat.say(server, "hello")

    assert chat.hear()["text"] == "still here"


def test_what_an_earlier_server_may_have_taken_is_refused():
    with pytest.raises(RefusedError, match="older than this server"):
        Guard(SECRET, lambda: 1_000_000.0).check(signed(SECRET, b"x", 999_999.0), b"x")


def test_a_message_passes_once_and_for_a_while():
    now = 1_000_000.0
    guard = Guard(SECRET, lambda: now)
    ahead = signed(SECRET, b"x", now + WINDOW_S)

    guard.check(ahead, b"x")
    for later in (0.0, WINDOW_S, 2.0 * WINDOW_S):
        now = 1_000_000.0 + later
        with pytest.raises(RefusedError, match="here already"):
            guard.check(ahead, b"x")
    now += 1
    with pytest.raises(RefusedError, match="too old"):
        guard.check(ahead, b"x")
