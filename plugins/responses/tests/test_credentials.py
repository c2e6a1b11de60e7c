"""Where keys come from, and that they stay secret."""

import sys

import pytest

from ferrule_testkit.model_items import message

KEY = "sk-0123456789abcdef"


def token_command(tmp_path, program, **more):
    script = tmp_path / "token.py"
    script.write_text(program)
    return {"command": sys.executable, "args": [str(script)], **more}


COUNTING = """
import os, pathlib
count = pathlib.Path(__file__).with_name("count")
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
print(f"token-number-{number}")
"""


def authorizations(model_server):
    return [request.headers.get("authorization") for request in model_server.requests]


def test_the_key_of_the_environment_is_sent(model_server, talk):
    model_server.play([[message("x")]])
    talk(env_key="THE_KEY", environ={"THE_KEY": f" {KEY}\n"})
    assert authorizations(model_server) == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("more", "advice"),
    [({}, ""), ({"env_key_instructions": "Get one from the desk."}, " Get one from the desk.")],
    ids=["plain", "with-instructions"],
)
def test_a_missing_key_sends_nothing(model_server, talk, more, advice):
    error = talk(env_key="THE_KEY", **more).error
    assert str(error) == f"Missing environment variable: `THE_KEY`.{advice}"
    assert not error.retryable
    assert model_server.requests == []


def test_a_token_of_the_configuration_is_sent(model_server, talk):
    model_server.play([[message("x")]])
    talk(experimental_bearer_token=KEY)
    assert authorizations(model_server) == [f"Bearer {KEY}"]


def test_a_token_is_fetched_once_and_used_until_it_is_old(
    model_server, talk, make_request, tmp_path
):
    model_server.play([[message("x")], [message("y")]])
    talk(make_request(), make_request(), auth=token_command(tmp_path, COUNTING))
    assert authorizations(model_server) == ["Bearer token-number-1"] * 2


def test_an_old_token_is_fetched_anew(model_server, talk, make_request, tmp_path):
    model_server.play([[message("x")], [message("y")]])
    auth = token_command(tmp_path, COUNTING, refresh_interval_ms=1)
    talk(make_request(), make_request(), auth=auth)
    assert authorizations(model_server) == ["Bearer token-number-1", "Bearer token-number-2"]


def test_a_refused_token_is_fetched_anew_and_tried_once_more(model_server, talk, tmp_path):
    model_server.play([{"status": 401}, [message("x")]])
    assert talk(auth=token_command(tmp_path, COUNTING)).error is None
    assert authorizations(model_server) == ["Bearer token-number-1", "Bearer token-number-2"]


def test_a_token_refused_twice_is_an_error(model_server, talk, tmp_path):
    model_server.play([{"status": 401, "times": 9}])
    error = talk(auth=token_command(tmp_path, COUNTING)).error
    assert error.kind == "unauthorized"
    assert len(model_server.requests) == 2


@pytest.mark.parametrize(
    ("program", "more", "message_"),
    [
        ("raise SystemExit(3)", {}, "failed with exit code 3"),
        ("", {}, "printed no token"),
        ("import time; time.sleep(60)", {"timeout_ms": 100}, "gave no token within 0.1 s"),
    ],
    ids=["fails", "silent", "late"],
)
def test_a_token_command_that_gives_none_is_named(
    model_server, talk, tmp_path, program, more, message_
):
    error = talk(auth=token_command(tmp_path, program, **more)).error
    assert str(error) == f"the provider's `auth.command` {sys.executable!r} {message_}"
    assert model_server.requests == []


def test_a_token_command_that_is_not_there_is_named(talk):
    error = talk(auth={"command": "/no/such/program"}).error
    assert "`auth.command` '/no/such/program' cannot be started" in str(error)


@pytest.mark.parametrize(
    "settings",
    [
        {"env_key": "THE_KEY", "environ": {"THE_KEY": KEY}},
        {"experimental_bearer_token": KEY},
        {"http_headers": {"x-api-key": KEY}},
        {"env_http_headers": {"x-any": "THE_KEY"}, "environ": {"THE_KEY": KEY}},
        {"query_params": {"token": KEY}},
    ],
    ids=["env-key", "bearer", "header", "env-header", "query"],
)
@pytest.mark.parametrize("number", [400, 401, 500])
def test_no_error_quotes_a_secret(model_server, talk, settings, number):
    body = {"error": {"message": f"the key {KEY} is not good"}}
    model_server.play([{"status": number, "body": body}])
    error = talk(request_max_retries=0, **settings).error
    assert KEY not in f"{error} {error.details} {error.args}"


def test_user_and_password_of_the_url_are_not_shown(model_server, talk):
    model_server.play([{"status": 404}])
    url = model_server.base_url.replace("http://", "http://user:password@")
    error = talk(base_url=url).error
    assert "password" not in str(error)
    assert model_server.requests[0].headers["authorization"].startswith("Basic ")


def test_a_key_with_a_line_break_cannot_smuggle_a_header(model_server, talk):
    error = talk(experimental_bearer_token="x\r\nevil: 1").error
    assert "must not contain a line break" in str(error)
    assert model_server.requests == []
