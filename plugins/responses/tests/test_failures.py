"""What a provider says when something fails, and whether it asks to be tried again."""

import pytest

from ferrule_hookspecs.provider import ItemDone
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit.model_items import message

QUICK = {"request_max_retries": 0}


def failed(code, text="told so"):
    return {"items": [message("before")], "failed": {"code": code, "message": text}}


def status(number, error=None, **more):
    return {"status": number, "body": {"error": error or {"message": "boom"}}, **more}


@pytest.mark.parametrize(
    ("turn", "message_", "kind"),
    [
        pytest.param(
            {"items": [message("a b c")], "cut_after": 3},
            "stream disconnected before completion: Transport error: network error: "
            "error decoding response body",
            "responseStreamDisconnected",
            id="cut",
        ),
        pytest.param(
            {"items": [message("a")], "no_completed": True},
            "stream disconnected before completion: stream closed before response.completed",
            "responseStreamDisconnected",
            id="no-completed",
        ),
        pytest.param(
            {"items": [message("a")], "hang": True},
            "stream disconnected before completion: idle timeout waiting for SSE",
            "responseStreamDisconnected",
            id="idle",
        ),
        pytest.param(
            {"delay": 5, "items": []},
            "stream disconnected before completion: idle timeout waiting for SSE",
            "responseStreamDisconnected",
            id="no-answer",
        ),
        pytest.param(
            {"events": ["event: response.output_item.done\ndata: {broken\n\n"]},
            "stream disconnected before completion: the server sent an event that is not JSON",
            "responseStreamDisconnected",
            id="broken-item",
        ),
        pytest.param(
            failed("something_new"),
            "stream disconnected before completion: told so",
            "responseStreamDisconnected",
            id="failed-other",
        ),
        pytest.param(
            {"events": [{"type": "error", "code": "oops", "message": "told so"}]},
            "stream disconnected before completion: told so",
            "responseStreamDisconnected",
            id="error-event",
        ),
        pytest.param(
            failed("rate_limit_exceeded"),
            "rate limit exceeded: told so",
            "rateLimitExceeded",
            id="failed-rate-limit",
        ),
        pytest.param(
            status(429),
            "exceeded retry limit, last status: 429 Too Many Requests",
            "rateLimitExceeded",
            id="429",
        ),
        pytest.param(
            status(500),
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "internalServerError",
            id="500",
        ),
        pytest.param(
            {"status": 503, "body": "no backend"},
            "unexpected status 503 Service Unavailable: no backend, url: {url}",
            "internalServerError",
            id="503-text",
        ),
        pytest.param(
            {"drop": True},
            "the connection to {url} ended before an answer: no answer came",
            "responseStreamConnectionFailed",
            id="dropped",
        ),
    ],
)
def test_what_may_pass_is_retryable(model_server, talk, turn, message_, kind):
    model_server.play([turn])
    error = talk(**QUICK, stream_idle_timeout_ms=400).error
    assert str(error) == message_.format(url=f"{model_server.base_url}/responses")
    assert error.retryable
    assert error.kind == kind
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("turn", "message_", "kind"),
    [
        pytest.param(
            status(400, {"message": "Invalid value: 'x'", "code": "invalid_value"}),
            "Invalid value: 'x'",
            "badRequest",
            id="400",
        ),
        pytest.param({"status": 400, "body": "nope"}, "nope", "badRequest", id="400-text"),
        pytest.param(
            status(401),
            "unexpected status 401 Unauthorized: boom, url: {url}",
            "unauthorized",
            id="401",
        ),
        pytest.param(
            status(403),
            "unexpected status 403 Forbidden: boom, url: {url}",
            "httpConnectionFailed",
            id="403",
        ),
        pytest.param(
            status(404),
            "unexpected status 404 Not Found: boom, url: {url}",
            "httpConnectionFailed",
            id="404",
        ),
        pytest.param(
            status(429, {"type": "usage_limit_reached", "message": "limit"}),
            "You’ve hit your usage limit.",
            "usageLimitExceeded",
            id="usage-limit",
        ),
        pytest.param(
            status(429, {"type": "insufficient_quota", "message": "limit"}),
            "Quota exceeded. Check your plan and billing details.",
            "usageLimitExceeded",
            id="429-quota",
        ),
        pytest.param(
            status(400, {"code": "context_length_exceeded", "message": "too long"}),
            "The conversation no longer fits into the model's context window. "
            "Start a new thread or clear earlier history before retrying.",
            "contextWindowExceeded",
            id="400-context",
        ),
        pytest.param(
            failed("context_length_exceeded"),
            "The conversation no longer fits into the model's context window. "
            "Start a new thread or clear earlier history before retrying.",
            "contextWindowExceeded",
            id="failed-context",
        ),
        pytest.param(
            failed("insufficient_quota"),
            "Quota exceeded. Check your plan and billing details.",
            "usageLimitExceeded",
            id="failed-quota",
        ),
        pytest.param(
            failed("server_is_overloaded"),
            "Selected model is at capacity. Please try a different model.",
            "serverOverloaded",
            id="failed-overloaded",
        ),
        pytest.param(
            failed("slow_down"),
            "Selected model is at capacity. Please try a different model.",
            "serverOverloaded",
            id="failed-slow-down",
        ),
        pytest.param(failed("invalid_prompt"), "told so", "badRequest", id="failed-prompt"),
        pytest.param(failed("cyber_policy"), "told so", "cyberPolicy", id="failed-policy"),
        pytest.param(
            failed("usage_not_included"),
            "The account's plan does not include this model: told so",
            "usageLimitExceeded",
            id="failed-not-included",
        ),
        pytest.param(
            {"items": [], "incomplete": "max_output_tokens"},
            "Incomplete response returned, reason: max_output_tokens",
            "other",
            id="incomplete",
        ),
    ],
)
def test_what_will_not_pass_fails_at_once(model_server, talk, turn, message_, kind):
    model_server.play([turn])
    error = talk().error
    assert str(error) == message_.format(url=f"{model_server.base_url}/responses")
    assert not error.retryable
    assert error.kind == kind
    assert len(model_server.requests) == 1


def test_items_that_were_complete_before_a_failure_are_handed_out(model_server, talk):
    model_server.play([failed("insufficient_quota")])
    assert talk().of(ItemDone) == [ItemDone(message("before"))]


def test_a_failing_server_is_asked_again_silently(model_server, talk):
    model_server.play([status(500), {"drop": True}, [message("ok")]])
    heard = talk()
    assert heard.error is None
    assert len(model_server.requests) == 3


def test_silent_retries_have_a_bound_and_keep_what_the_server_said(model_server, talk):
    model_server.play([status(502, times=9)])
    error = talk(request_max_retries=1).error
    assert len(model_server.requests) == 2
    assert error.status == 502
    assert error.details == "boom"


@pytest.mark.parametrize(
    ("turn", "seconds"),
    [
        (status(429, headers={"retry-after": "2"}), 2.0),
        (status(503, headers={"retry-after": "7"}), 7.0),
        (status(429, headers={"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}), 0.0),
        (status(429, headers={"retry-after": "soon"}), None),
        (status(429, {"message": "try again in 250ms"}), 0.25),
        (failed("rate_limit_exceeded", "Please try again in 1.5s."), 1.5),
        (failed("rate_limit_exceeded", "Try again in 2 minutes."), 120.0),
    ],
    ids=["header", "503", "date", "nonsense", "429-text", "event-text", "minutes"],
)
def test_a_wait_the_server_names_is_left_to_the_kernel(model_server, talk, turn, seconds):
    model_server.play([turn])
    error = talk().error
    assert error.retry_after_s == seconds
    assert error.retryable
    assert len(model_server.requests) == 1


def test_the_end_of_a_usage_limit_is_told(model_server, talk, monkeypatch):
    limit = {"type": "usage_limit_reached", "message": "limit", "resets_at": 1900000000}
    model_server.play([status(429, limit)])
    message_ = str(talk().error)
    assert message_.startswith("You’ve hit your usage limit. Try again at Mar 1")
    assert ", 2030 " in message_


def test_a_server_that_is_not_there_is_named_with_the_mend(talk):
    error = talk(base_url="http://127.0.0.1:1/v1").error
    assert str(error) == (
        "cannot reach http://127.0.0.1:1/v1/responses: connection refused; "
        "check the network and the provider's `base_url`"
    )
    assert error.retryable


@pytest.mark.parametrize("url", ["ftp://x/v1", "localhost:80/v1", "http://", "http://h:port/v1"])
def test_a_base_url_that_cannot_be_used_is_said_to_be_so(talk, url):
    error = talk(base_url=url).error
    assert str(error) == (
        f"`base_url` of the model provider 'scripted' is no http or https URL: {url!r}"
    )
    assert not error.retryable


@pytest.mark.parametrize(
    ("table", "message_"),
    [
        ({"request_max_retries": "4"}, "'request_max_retries' must be of type int, not str"),
        ({"request_max_retries": -1}, "'request_max_retries' must be a number, zero or more"),
        ({"http_headers": []}, "'http_headers' must be of type dict, not list"),
        ({"auth": {}}, "'auth' needs a 'command', a program's name"),
    ],
    ids=["text", "negative", "list", "no-command"],
)
def test_a_wrong_setting_is_an_error_that_names_it(tmp_path, table, message_):
    from ferrule_hookspecs.errors import ConfigError
    from ferrule_hookspecs.plugins import PluginContext

    with pytest.raises(ConfigError, match=message_):
        ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=table))
