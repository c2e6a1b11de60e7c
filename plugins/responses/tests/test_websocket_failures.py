"""WebSockets that do not open, break or are refused: nothing is lost, doubled or kept silent.

A client of the same protocol (0.169) was seen to reconnect once with the whole input, then to go on
over HTTP only after five more attempts; ours goes there at once, and says so.
"""

import socket
import threading

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit.model_items import function_call, message

UNKNOWN = {
    "code": "previous_response_not_found",
    "type": "invalid_request_error",
    "message": "Previous response with id 'resp_2' not found.",
}
TOO_OLD = {"code": "websocket_connection_limit_reached", "message": "60 minutes"}


def user(text):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def output(text):
    return {"type": "function_call_output", "call_id": "call_1", "output": text}


def error(**fields):
    return {"events": [{"type": "error", "status": 400, "error": fields}]}


@pytest.fixture
def chat(talk, make_request):
    """Send the same request some times, as the kernel does when it may; or some requests."""

    def run(*given, times=1, **settings):
        requests = given or [make_request(input=[user("hi")])] * times
        heard = talk(*requests, supports_websockets=True, **settings)
        return heard if isinstance(heard, list) else [heard]

    return run


def items(heard):
    return [event.item for event in heard.of(ItemDone)]


@pytest.mark.parametrize("status", [403, 404, 426, 500])
def test_a_server_without_websockets_is_asked_over_http_from_then_on(model_server, chat, status):
    model_server.refuse_upgrades(status)
    model_server.play([[message("a")], [message("b")]])
    first, second, third = chat(times=3)
    assert f"could not be opened: the server answered {status}" in str(first.error)
    assert str(first.error).endswith("; going on over HTTP")
    assert f"{model_server.base_url}/responses" in str(first.error)
    assert first.error.retryable
    assert first.error.retry_after_s == 0
    assert items(second) == [message("a")]
    assert items(third) == [message("b")]
    assert len(model_server.upgrades) == 1


def test_where_the_kernel_would_not_try_again_http_is_used_without_a_word(model_server, chat):
    model_server.refuse_upgrades(426)
    model_server.play([[message("a")]])
    (only,) = chat(stream_max_retries=0)
    assert only.error is None
    assert items(only) == [message("a")]


def test_a_server_that_does_not_answer_the_upgrade_is_given_up_in_time(model_server, chat):
    model_server.refuse_upgrades(None)
    model_server.play([[message("a")]])
    first, second = chat(times=2, websocket_connect_timeout_ms=50)
    assert "could not be opened: no answer within 0.05 s; going on over HTTP" in str(first.error)
    assert items(second) == [message("a")]


def test_a_server_that_is_not_there_is_named(chat):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    first, second = chat(times=2, base_url=url, request_max_retries=0)
    assert f"{url}/responses could not be opened: connection refused" in str(first.error)
    assert str(second.error).startswith(f"cannot reach {url}/responses")


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        pytest.param({"drop": True}, "it was cut off", id="cut"),
        pytest.param({"cut_after": 1, "items": [message("x")]}, "it was cut off", id="begun"),
        pytest.param({"close": 1011}, "closed with 1011", id="closed"),
        pytest.param({"events": ["no JSON"]}, "a message that is no JSON object", id="not-json"),
        pytest.param({"events": ["[1]"]}, "a message that is no JSON object", id="no-object"),
        pytest.param(error(**UNKNOWN), "no longer has the previous response", id="unknown"),
        pytest.param(error(**TOO_OLD), "ended it after its time limit", id="time-limit"),
    ],
)
def test_a_lost_connection_is_opened_once_more_and_all_is_sent(
    model_server, chat, make_request, turn, reason
):
    call = function_call("look", {})
    model_server.play([[call], turn, [message("done")]])
    second = make_request(input=[user("hi"), call, output("seen")])
    _, lost, again = chat(make_request(input=[user("hi")]), second, second)
    assert f"was lost: {reason}" in str(lost.error) or reason in str(lost.error)
    assert str(lost.error).endswith("; connecting again")
    assert lost.error.retryable
    assert lost.error.kind == "responseStreamDisconnected"
    assert items(again) == [message("done")]
    *_, broken, whole = model_server.messages
    assert broken.body["input"] == [output("seen")]
    assert whole.body["input"] == list(second.input)
    assert "previous_response_id" not in whole.body
    assert whole.connection != broken.connection


def test_lost_twice_in_a_row_the_session_goes_on_over_http(model_server, chat):
    model_server.play([{"drop": True}, {"drop": True}, [message("a")], [message("b")]])
    first, second, third, fourth = chat(times=4)
    assert str(first.error).endswith("; connecting again")
    assert str(second.error).endswith("; going on over HTTP")
    assert items(third) == [message("a")]
    assert items(fourth) == [message("b")]
    assert len(model_server.upgrades) == len(model_server.requests) == 2


def test_a_response_that_is_complete_makes_up_for_a_lost_one(model_server, chat):
    model_server.play([{"drop": True}, [message("a")], {"drop": True}, [message("b")]])
    first, second, third, fourth = chat(times=4)
    assert first.error is not None
    assert str(third.error).endswith("; connecting again")
    assert items(second) + items(fourth) == [message("a"), message("b")]
    assert model_server.requests == []


def test_what_came_before_the_break_is_told_once_and_goes_into_the_next_request(
    model_server, chat, make_request
):
    call = function_call("look", {})
    model_server.play([{"items": [call, message("lost")], "cut_after": 4}, [message("done")]])
    second = make_request(input=[user("hi"), call, output("seen")])
    first, again = chat(make_request(input=[user("hi")]), second)
    assert items(first) == [call]
    assert first.error.retryable
    assert items(again) == [message("done")]
    assert model_server.messages[1].body["input"] == list(second.input)


def test_with_no_retries_left_a_lost_request_is_sent_again_without_a_word(model_server, chat):
    model_server.play([{"drop": True}, {"drop": True}, [message("a")]])
    (only,) = chat(stream_max_retries=0)
    assert items(only) == [message("a")]
    assert len(model_server.messages) == 2
    assert len(model_server.requests) == 1


def test_a_message_too_large_for_the_server_goes_over_http(model_server, chat):
    model_server.play([{"close": 1009}, [message("a")]])
    first, second = chat(times=2)
    assert "closed with 1009; going on over HTTP" in str(first.error)
    assert items(second) == [message("a")]
    assert len(model_server.upgrades) == 1


def test_a_silent_connection_counts_as_lost(model_server, chat):
    model_server.play([{"items": [], "hang": True}, [message("a")]])
    first, second = chat(times=2, stream_idle_timeout_ms=50)
    assert "was lost: idle timeout waiting for a message; connecting again" in str(first.error)
    assert items(second) == [message("a")]


def test_a_connection_closed_between_requests_is_no_failure(model_server, make_request, tmp_path):
    model_server.play([[message("a")], [message("b")]])

    async def main():
        table = {"base_url": model_server.base_url, "supports_websockets": True}
        provider = ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=table))
        given = [user("hi")]
        events = [event async for event in provider.stream(make_request(input=given))]
        model_server.hang_up()
        await anyio.wait_all_tasks_blocked()
        given += [message("a"), user("more")]
        events += [event async for event in provider.stream(make_request(input=given))]
        await provider.aclose()
        return events

    events = anyio.run(main)
    assert sum(isinstance(event, Completed) for event in events) == 2
    assert len(model_server.messages[1].body["input"]) == 3
    assert len(model_server.upgrades) == 2


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param({"status": 429, "body": {"error": {"message": "slow down"}}}, id="429"),
        pytest.param({"status": 503}, id="503"),
        pytest.param({"status": 400, "body": {"error": {"message": "bad field"}}}, id="400"),
        pytest.param(
            {"status": 400, "body": {"error": {"code": "context_length_exceeded"}}}, id="context"
        ),
        pytest.param({"items": [], "failed": {"code": "rate_limit_exceeded"}}, id="failed"),
        pytest.param({"items": [], "incomplete": "max_output_tokens"}, id="incomplete"),
    ],
)
def test_failed_requests_are_reported_as_over_http(model_server, talk, chat, turn):
    model_server.play([turn, turn, [message("a")]])
    over_http = talk(request_max_retries=0).error
    first, second = chat(times=2)
    assert str(first.error) == str(over_http)
    assert (first.error.kind, first.error.status) == (over_http.kind, over_http.status)
    assert first.error.retryable == over_http.retryable
    assert items(second) == [message("a")]
    assert len(model_server.messages) == 2


def test_a_key_the_server_quotes_stays_secret(model_server, chat):
    model_server.play([error(message="bad key key-1234567")])
    (only,) = chat(environ={"K": "key-1234567"}, env_key="K")
    assert "key-1234567" not in f"{only.error} {only.error.details}"
    assert "[redacted]" in str(only.error)


def test_a_token_the_server_refuses_is_fetched_anew_once(model_server, chat, tmp_path):
    model_server.refuse_upgrades(401)
    counter = tmp_path / "count"
    auth = {"command": "/bin/sh", "args": ["-c", f"echo x >> {counter}; echo token-$$"]}
    first, _ = chat(times=2, auth=auth, request_max_retries=0)
    assert "the server answered 401 Unauthorized; going on over HTTP" in str(first.error)
    tokens = [upgrade.headers["authorization"] for upgrade in model_server.upgrades]
    assert len(tokens) == len(set(tokens)) == 2
    assert counter.read_text() == "x\nx\n"


def test_a_redirect_is_not_followed(model_server, chat):
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        port = elsewhere.getsockname()[1]
        model_server.refuse_upgrades(302, location=f"ws://127.0.0.1:{port}/")
        first, second = chat(times=2)
        elsewhere.setblocking(False)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert "the server answered 302 Found" in str(first.error)
    assert second.error is None


@pytest.fixture
def tunnel(monkeypatch):
    """A proxy that connects to wherever it is told; the lines it was told so with."""
    told = []
    listener = socket.create_server(("127.0.0.1", 0))

    def copy(source, sink):
        while data := source.recv(65536):
            sink.sendall(data)

    def serve():
        client, _ = listener.accept()
        with client:
            told.append(client.recv(65536).split(b"\r\n")[0].decode())
            host, _, port = told[0].split()[1].rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=copy, args=(server, client))
                back.start()
                copy(client, server)
                server.shutdown(socket.SHUT_WR)
                back.join()

    thread = threading.Thread(target=serve)
    thread.start()
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{listener.getsockname()[1]}")
    yield told
    thread.join(5)
    listener.close()


def test_a_proxy_is_used(model_server, chat, tunnel):
    model_server.play([[message("a")]])
    (only,) = chat()
    assert items(only) == [message("a")]
    assert tunnel == [f"CONNECT 127.0.0.1:{model_server.port} HTTP/1.1"]
    assert len(model_server.messages) == 1


def test_a_proxy_that_cannot_be_used_is_named(chat, monkeypatch):
    monkeypatch.setenv("SOCKS_PROXY", "socks5://127.0.0.1:1")
    (only,) = chat()
    assert "SOCKS proxy requires python-socks; going on over HTTP" in str(only.error)
