"""What the provider says when something fails, and whether it asks to be tried again."""

import pytest

from ferrule_hookspecs.provider import ItemDone
from ferrule_testkit.model_items import function_call, message

QUICK = {"request_max_retries": 0}
KEY = "sk-ant-api03-secret"


def refusal(status, kind, text="told so", **more):
    error = {"type": kind, "message": text}
    return {"status": status, "body": {"type": "error", "error": error}, **more}


def ended(reason, **details):
    stop = {"stop_reason": reason, "stop_details": details or None}
    events = [{"type": "message_start", "message": {"id": "m"}}]
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}})
    return {"events": [*events, {"type": "message_stop"}]}


@pytest.mark.parametrize(
    ("turn", "says", "kind"),
    [
        pytest.param(
            refusal(429, "rate_limit_error"),
            "the rate limit is reached: told so",
            "rateLimitExceeded",
            id="429",
        ),
        pytest.param(
            refusal(529, "overloaded_error", "Overloaded"),
            "the model is overloaded at the moment: Overloaded",
            "serverOverloaded",
            id="529",
        ),
        pytest.param(
            refusal(500, "api_error"),
            "the server failed with status 500: told so",
            "internalServerError",
            id="500",
        ),
        pytest.param(
            refusal(504, "timeout_error"),
            "the server failed with status 504: told so",
            "internalServerError",
            id="504",
        ),
        pytest.param(
            {"status": 502, "body": "<html>Bad gateway</html>"},
            "unexpected status 502 Bad Gateway: <html>Bad gateway</html>, url: {url}",
            "internalServerError",
            id="gateway",
        ),
        pytest.param(
            {"items": [message("a")], "failed": {"type": "overloaded_error", "message": "Busy"}},
            "the model is overloaded at the moment: Busy",
            "serverOverloaded",
            id="overloaded-in-stream",
        ),
        pytest.param(
            {"items": [message("a")], "failed": {"code": "rate_limit_exceeded", "message": "slow"}},
            "the rate limit is reached: slow",
            "rateLimitExceeded",
            id="rate-limit-in-stream",
        ),
        pytest.param(
            {"items": [message("a")], "failed": {"type": "api_error", "message": "oops"}},
            "stream disconnected before completion: oops",
            "responseStreamDisconnected",
            id="error-in-stream",
        ),
        pytest.param(
            {"items": [message("a")], "no_completed": True},
            "stream disconnected before completion: stream closed before message_stop",
            "responseStreamDisconnected",
            id="no-end",
        ),
        pytest.param(
            {"items": [message("a b c")], "cut_after": 4},
            "stream disconnected before completion: Transport error: network error: "
            "error decoding response body",
            "responseStreamDisconnected",
            id="cut",
        ),
        pytest.param(
            {"items": [message("a")], "hang": True},
            "stream disconnected before completion: idle timeout waiting for SSE",
            "responseStreamDisconnected",
            id="idle",
        ),
        pytest.param(
            {"events": ["event: content_block_stop\ndata: {broken\n\n"]},
            "stream disconnected before completion: the server sent an event that is not JSON",
            "responseStreamDisconnected",
            id="broken-event",
        ),
    ],
)
def test_what_may_pass_is_retryable(model_server, talk, turn, says, kind):
    model_server.play([turn])
    error = talk(**QUICK, stream_idle_timeout_ms=400).error
    assert str(error) == says.format(url=f"{model_server.base_url}/messages")
    assert error.retryable
    assert error.kind == kind


@pytest.mark.parametrize(
    ("turn", "says", "kind"),
    [
        pytest.param(
            refusal(401, "authentication_error", "invalid x-api-key"),
            "the server refused the key: set `MY_KEY` to a valid one (invalid x-api-key)",
            "unauthorized",
            id="401",
        ),
        pytest.param(
            refusal(403, "permission_error"),
            "the key may not do this: told so",
            "unauthorized",
            id="403",
        ),
        pytest.param(
            refusal(404, "not_found_error", "model: claude-none"),
            "nothing is known there under that name (model: claude-none): check `model` and the"
            " provider's `base_url`, url: {url}",
            "badRequest",
            id="404",
        ),
        pytest.param(
            refusal(400, "invalid_request_error", "system: no"),
            "system: no",
            "badRequest",
            id="400",
        ),
        pytest.param(
            refusal(400, "invalid_request_error", '"thinking.type.enabled" is not supported'),
            '"thinking.type.enabled" is not supported; tell how this model is asked to think with'
            " `settings.thinking` of its provider",
            "badRequest",
            id="400-thinking",
        ),
        pytest.param(
            refusal(402, "billing_error"),
            "the account cannot pay for this: told so",
            "usageLimitExceeded",
            id="402",
        ),
        pytest.param(
            refusal(400, "invalid_request_error", "Your credit balance is too low"),
            "the account cannot pay for this: Your credit balance is too low",
            "usageLimitExceeded",
            id="no-credit",
        ),
        pytest.param(
            {"items": [message("a")], "incomplete": "max_output_tokens"},
            "Incomplete response returned, reason: max_tokens: raise `settings.max_tokens` of the"
            " provider",
            "other",
            id="max-tokens",
        ),
        pytest.param(
            ended("refusal"),
            "the model declined to answer: no reason was given",
            "other",
            id="refusal",
        ),
        pytest.param(
            ended("refusal", category="cyber", explanation="It looks harmful."),
            "the model declined to answer: It looks harmful.",
            "cyberPolicy",
            id="refusal-cyber",
        ),
    ],
)
def test_what_will_not_pass_ends_the_turn(model_server, talk, turn, says, kind):
    model_server.play([turn])
    error = talk(env_key="MY_KEY", environ={"MY_KEY": KEY}).error
    assert str(error) == says.format(url=f"{model_server.base_url}/messages")
    assert not error.retryable
    assert error.kind == kind
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    "turn",
    [
        refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        refusal(
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
        ),
        refusal(413, "request_too_large", "Request exceeds the maximum size"),
        {"status": 413, "body": "<html>too large</html>"},
        ended("model_context_window_exceeded"),
    ],
    ids=["too-long", "with-answer", "413", "413-of-a-proxy", "in-the-middle"],
)
def test_a_conversation_that_is_too_long_is_known_as_such(model_server, talk, turn):
    model_server.play([turn])
    error = talk().error
    assert error.kind == "contextWindowExceeded"
    assert not error.retryable


def test_the_server_says_how_long_to_wait(model_server, talk):
    model_server.play([refusal(429, "rate_limit_error", headers={"retry-after": "7"})])
    assert talk().error.retry_after_s == 7


def test_a_momentary_failure_is_tried_again_silently(model_server, talk):
    model_server.play([refusal(500, "api_error"), [message("fine")]])
    heard = talk()
    assert heard.error is None
    assert len(model_server.requests) == 2


def test_a_missing_key_is_named_before_anything_is_sent(model_server, talk):
    error = talk(env_key="ANTHROPIC_API_KEY").error
    assert str(error) == (
        "Missing environment variable: `ANTHROPIC_API_KEY`. Set it to a key from"
        " https://platform.claude.com/settings/keys."
    )
    assert error.kind == "unauthorized"
    assert model_server.requests == []


def test_a_key_that_the_server_quotes_is_not_told_on(model_server, talk):
    model_server.play([refusal(401, "authentication_error", f"bad key {KEY}")])
    error = talk(env_key="MY_KEY", environ={"MY_KEY": KEY}).error
    assert KEY not in str(error) + str(error.details)
    assert "[redacted]" in str(error)


def test_a_refused_token_is_fetched_anew(model_server, talk):
    model_server.play([refusal(401, "authentication_error"), [message("ok")]])
    command = {"command": "sh", "args": ["-c", "echo token-$$"]}
    assert talk(auth=command).error is None
    keys = [request.headers["x-api-key"] for request in model_server.requests]
    assert keys[0] != keys[1]


def test_what_came_before_a_failure_is_kept(model_server, talk):
    turn = {"items": [function_call("run", {})], "failed": {"type": "api_error", "message": "x"}}
    model_server.play([turn])
    heard = talk()
    assert len(heard.of(ItemDone)) == 1
    assert heard.error is not None
