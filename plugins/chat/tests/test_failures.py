"""What a user hears when a server does not serve, in the words vendors really use."""

import socket

import pytest

from ferrule_hookspecs.provider import ItemDone
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_testkit.model_items import message

RUN = FunctionSchema("run", "Runs.", {"type": "object"})
QUICK = {"request_max_retries": 0}


@pytest.fixture
def fail(model_server, talk, make_request):
    """Answer with a status and a body; the error that becomes of it."""

    def run(status, body, **settings):
        model_server.play([{"status": status, "body": body}])
        return talk(make_request(tools=[RUN]), **{**QUICK, **settings}).error

    return run


OVERFLOWS = {
    "OpenAI": (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 128000 tokens. However, your "
                "messages resulted in 140000 tokens.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "request (4390 tokens) exceeds the available context size (4096 "
                "tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 4390,
                "n_ctx": 4096,
            }
        },
    ),
    "llama.cpp, another time": (
        500,
        {
            "error": {
                "code": 500,
                "message": "Context size has been exceeded.",
                "type": "server_error",
            }
        },
    ),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested "
            "5000 tokens. Please reduce the length of the messages or completion.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "OpenRouter": (
        400,
        {
            "error": {
                "message": "This endpoint's maximum context length is 8192 tokens. However, you "
                "requested about 9000 tokens.",
                "code": 400,
            }
        },
    ),
    "Ollama": (
        400,
        {"error": {"message": "the input exceeds the context length", "type": "api_error"}},
    ),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with "
            "32768 maximum context length",
            "type": "invalid_request_prompt_too_long",
            "code": "3051",
        },
    ),
    "Gemini": (
        400,
        [{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum (8)."}}],
    ),
    "LM Studio": (
        400,
        {
            "error": "Trying to keep the first 5000 tokens when context the overflows. However, "
            "the model is loaded with context length of only 4096 tokens."
        },
    ),
    "xAI": (
        400,
        {
            "code": "invalid-argument",
            "error": "This model's maximum prompt length is 131072 but the request contains 140000 "
            "tokens.",
        },
    ),
}


@pytest.mark.parametrize("vendor", OVERFLOWS)
def test_a_full_context_is_recognised_in_every_vendors_words(fail, vendor):
    error = fail(*OVERFLOWS[vendor])
    assert error.kind == "contextWindowExceeded", error
    assert not error.retryable


def test_a_full_context_is_recognised_inside_of_a_stream(model_server, talk):
    body = OVERFLOWS["llama.cpp"][1]
    model_server.play([{"events": [body]}])
    assert talk().error.kind == "contextWindowExceeded"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"message": 'model "m1" not found, try pulling it first'}}),
        (404, {"error": {"message": "The model `m1` does not exist.", "code": 404}}),
        (404, {"error": {"message": "x", "code": "model_not_found"}}),
        (400, {"error": {"message": "m1 is not a valid model ID", "code": 400}}),
        (400, {"object": "error", "message": "Invalid model: m1", "code": "1500"}),
        (400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error"}}),
        (404, [{"error": {"message": "models/m1 is not found for API version v1main"}}]),
    ],
    ids=["Ollama", "vLLM", "OpenAI", "OpenRouter", "Mistral", "DeepSeek", "Gemini"],
)
def test_a_missing_model_is_named_with_its_mend(fail, status, body):
    error = fail(status, body)
    assert str(error).startswith("scripted has no model 'm1'"), error
    assert "-m MODEL" in str(error)
    assert not error.retryable


def test_ollama_users_are_told_what_to_pull(fail):
    body = {"error": {"message": "model 'm1' not found", "type": "not_found_error"}}
    assert "`ollama pull m1`" in str(fail(404, body, vendor="ollama"))


def test_a_wrong_path_points_at_the_base_url(fail):
    assert "`base_url`" in str(fail(404, "404 page not found"))


def test_a_refused_key_names_the_variable(fail):
    body = {"error": {"message": "Incorrect API key provided"}}
    error = fail(401, body, env_key="MY_KEY", environ={"MY_KEY": "secret-secret"})
    assert error.kind == "unauthorized"
    assert "Incorrect API key provided" in str(error)
    assert "`MY_KEY`" in str(error)
    assert "`env_key`" in str(fail(401, body))


def test_a_key_never_stands_in_a_message(fail):
    body = {"error": {"message": "Incorrect API key provided: secret-secret"}}
    error = fail(401, body, env_key="MY_KEY", environ={"MY_KEY": "secret-secret"})
    assert "secret-secret" not in f"{error}{error.details}"


def test_no_credit_is_no_reason_to_try_again(fail):
    error = fail(402, {"error": {"code": 402, "message": "Insufficient credits"}})
    assert (error.kind, error.retryable) == ("usageLimitExceeded", False)


def test_a_rate_limit_is(fail):
    error = fail(429, {"error": {"code": 429, "message": "Please try again in 2s"}})
    assert (error.kind, error.retryable, error.retry_after_s) == ("rateLimitExceeded", True, 2.0)


def test_openrouter_passes_on_what_the_models_server_said(fail):
    raw = '{"message": "thinking must be enabled"}'
    metadata = {"raw": raw, "provider_name": "X"}
    error = fail(400, {"error": {"message": "Provider returned error", "metadata": metadata}})
    assert "thinking must be enabled" in str(error)


def test_a_detail_is_a_message_too(fail):
    assert "bad field" in str(fail(400, {"detail": [{"msg": "bad field"}]}))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "Provider disconnected"}, "internalServerError"),
        ({"code": "server_error", "message": "gone"}, "responseStreamDisconnected"),
        ({"code": 429, "message": "slow"}, "rateLimitExceeded"),
        ("gone", "responseStreamDisconnected"),
    ],
    ids=["OpenRouter", "by name", "rate limit", "a text"],
)
def test_errors_inside_of_a_stream_can_be_tried_again(model_server, talk, error, kind):
    last = {"id": "x", "error": error, "choices": [{"delta": {}, "finish_reason": "error"}]}
    model_server.play([{"events": [last]}])
    heard = talk().error
    assert (heard.kind, heard.retryable) == (kind, True)


def test_a_server_that_is_not_running_is_to_be_started(talk):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        error = talk(base_url=base_url).error
        ollama = talk(base_url=base_url, vendor="ollama", name="Ollama").error
    assert "start the server" in str(error)
    assert not error.retryable
    assert str(ollama) == (
        f"Ollama does not answer at {base_url}: connection refused; start it with `ollama serve`, "
        "or set the provider's `base_url`"
    )


REFUSALS = {
    "Ollama": (400, {"error": {"message": "registry.ollama.ai/library/x does not support tools"}}),
    "llama.cpp": (500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}}),
    "llama.cpp of old": (500, {"error": {"code": 500, "message": "Unsupported param: tools"}}),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and '
            "--tool-call-parser to be set",
            "code": 400,
        },
    ),
    "OpenRouter": (
        404,
        {"error": {"message": "No endpoints found that support tool use.", "code": 404}},
    ),
    "Groq": (400, {"error": {"message": "`tool calling` is not supported with this model"}}),
}


@pytest.mark.parametrize("vendor", REFUSALS)
def test_refused_tools_are_told_in_text_instead_and_that_is_remembered(
    model_server, talk, make_request, vendor
):
    status, body = REFUSALS[vendor]
    call = '```tool\n{"name": "run", "arguments": {}}\n```'
    model_server.play([{"status": status, "body": body}, [message(call)], [message("done")]])
    first, second = talk(make_request(tools=[RUN]), make_request(tools=[RUN]))
    assert [item["type"] for item in first.items] == ["reasoning", "function_call"]
    assert body.get("error", body)["message"] in first.items[0]["summary"][0]["text"]
    assert second.items[0]["type"] == "message"
    assert ["tools" in request.body for request in model_server.requests] == [True, False, False]


def test_other_models_still_get_their_tools(model_server, talk, make_request):
    status, body = REFUSALS["Ollama"]
    model_server.play([{"status": status, "body": body}, [message("a")], [message("b")]])
    talk(make_request(tools=[RUN]), make_request(tools=[RUN], model="m2"))
    assert "tools" in model_server.requests[-1].body


def test_a_refusal_that_has_another_cause_is_told(model_server, talk, make_request):
    status, body = REFUSALS["Ollama"]
    refused = {"status": status, "body": body}
    model_server.play([refused, refused])
    heard = talk(make_request(tools=[RUN]))
    assert "does not support tools" in str(heard.error)
    assert len(model_server.requests) == 2
    assert not heard.of(ItemDone)
