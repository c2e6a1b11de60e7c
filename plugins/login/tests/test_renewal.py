"""Tokens are renewed before they expire and after one refusal, by one process at a time."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message

REFUSED = {"status": 401, "body": {"error": {"message": "token expired", "code": "expired"}}}


def _bearers(model_server):
    return [request.headers["authorization"].split()[1] for request in model_server.requests]


def _age(person, **changes):
    """Change what is stored, as time would."""
    stored = person.stored()
    stored["oauth"] |= changes
    person.auth_file.write_text(json.dumps(stored))


def test_a_run_sends_the_stored_token_and_the_account(signed_in, model_server):
    model_server.play([[message("hello")]])
    finished = signed_in.home.run("exec", "--json", "hi")
    assert finished.returncode == 0, finished.stderr
    headers = model_server.requests[0].headers
    assert headers["authorization"] == f"Bearer {signed_in.stored()['tokens']['access_token']}"
    assert headers["chatgpt-account-id"] == "acct-7"


def test_chat_completions_use_it_too(signed_in, issuer, model_server):
    signed_in.home.configure(
        provider="requires_openai_auth = true", tables=issuer.login_table(), wire_api="chat"
    )
    model_server.play([[message("hello")]])
    assert signed_in.home.run("exec", "hi").returncode == 0
    assert _bearers(model_server) == [signed_in.stored()["tokens"]["access_token"]]


def test_a_key_in_the_environment_counts_before_it(signed_in, model_server):
    model_server.play([[message("a")], [message("b")]])
    signed_in.home.run("exec", "hi", environ={"SCRIPTED_KEY": "key-one-1"})
    signed_in.home.run("exec", "hi", environ={"SCRIPTED_KEY": "x" * 9, "CODEX_API_KEY": "key-two"})
    assert _bearers(model_server) == ["key-one-1", "key-two"]
    assert not any("chatgpt-account-id" in request.headers for request in model_server.requests)


def test_a_provider_that_does_not_ask_for_it_never_gets_it(signed_in, issuer, model_server):
    signed_in.home.configure(tables=issuer.login_table())
    finished = signed_in.home.run("exec", "hi")
    assert finished.returncode == 1
    assert "Missing environment variable: `SCRIPTED_KEY`." in finished.stdout + finished.stderr
    assert model_server.requests == []


def test_nobody_signed_in_is_a_missing_key(person, model_server):
    finished = person.home.run("exec", "hi")
    assert finished.returncode == 1
    assert "Missing environment variable: `SCRIPTED_KEY`." in finished.stdout + finished.stderr
    assert model_server.requests == []


def test_a_token_refused_in_mid_turn_is_renewed_once(signed_in, issuer, model_server):
    old = signed_in.stored()["tokens"]
    model_server.play(
        [[function_call("exec_command", {"cmd": "true"})], REFUSED, [message("done")]]
    )
    finished = signed_in.home.run("exec", "--json", "hi")
    assert finished.returncode == 0, finished.stdout
    assert finished.items("agent_message")[0]["text"] == "done"
    new = signed_in.stored()["tokens"]
    assert _bearers(model_server) == [old["access_token"]] * 2 + [new["access_token"]]
    assert new["refresh_token"] != old["refresh_token"]
    assert new["account_id"] == "acct-7"
    for secret in (*old.values(), *new.values()):
        assert secret == "acct-7" or secret not in finished.stdout + finished.stderr


def test_a_token_refused_twice_ends_the_turn(signed_in, issuer, model_server):
    model_server.play([REFUSED, REFUSED, REFUSED])
    finished = signed_in.home.run("exec", "--json", "hi")
    assert finished.returncode == 1
    assert len(model_server.requests) == 2
    assert len(issuer.state.token_requests) == 2  # one for signing in, one for renewing


def test_a_token_about_to_expire_is_renewed_before_it_is_sent(signed_in, model_server):
    _age(signed_in, expires_at=1)
    old = signed_in.stored()["tokens"]["access_token"]
    model_server.play([[message("hello")]])
    assert signed_in.home.run("exec", "hi").returncode == 0
    new = signed_in.stored()["tokens"]["access_token"]
    assert _bearers(model_server) == [new]
    assert new != old


def test_a_sign_in_that_was_revoked_asks_for_another(signed_in, issuer, model_server):
    _age(signed_in, expires_at=1)
    issuer.state.refresh_tokens.clear()
    finished = signed_in.home.run("exec", "--json", "hi")
    assert finished.returncode == 1
    words = "the sign-in has expired or was revoked (invalid_grant); sign in again: `ferrule login`"
    assert words in finished.stdout
    assert model_server.requests == []
    stored = signed_in.stored()["tokens"]
    assert stored["refresh_token"] not in finished.stdout + finished.stderr


def test_an_issuer_that_quotes_the_token_is_not_quoted(signed_in, issuer):
    secret = signed_in.stored()["tokens"]["refresh_token"]
    issuer.state.token_failure = (400, {"error": secret, "error_description": f"bad {secret}"})
    _age(signed_in, expires_at=1)
    finished = signed_in.home.run("exec", "--json", "hi")
    assert finished.returncode == 1
    assert secret not in finished.stdout + finished.stderr


def test_an_issuer_that_is_down_does_not_end_a_token_that_still_works(
    signed_in, issuer, model_server
):
    now = time.time()
    _age(signed_in, expires_at=now + 5)
    stored = signed_in.stored()
    stored["last_refresh"] = "2026-01-01T00:00:00+00:00"
    signed_in.auth_file.write_text(json.dumps(stored))
    issuer.state.token_failure = (503, {"error": "temporarily_unavailable"})
    model_server.play([[message("hello")]])
    assert signed_in.home.run("exec", "hi").returncode == 0
    assert _bearers(model_server) == [stored["tokens"]["access_token"]]


def _await_open(run, path):
    """Wait until a process has a file open; what another process does is no event."""
    folder = Path(f"/proc/{run.pid}/fd")
    while run.poll() is None:
        for entry in folder.iterdir():
            with suppress(OSError):
                if entry.readlink() == path:
                    return
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at open files in /proc")
def test_two_processes_at_once_renew_once(signed_in, issuer, model_server):
    """A refresh token that is used twice would end the sign-in for both."""
    _age(signed_in, expires_at=1)
    issuer.state.hold.clear()
    model_server.play([[message("hello")]] * 4)
    runs = [
        subprocess.Popen(
            signed_in.home.command(["exec", f"hi {number}"]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=signed_in.home.workspace,
            env=signed_in.home.environ,
        )
        for number in range(4)
    ]
    for run in runs:
        _await_open(run, signed_in.home.path / "auth.json.lock")
    issuer.state.hold.set()
    for run in runs:
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 0, said
    renewals = [f for f in issuer.state.token_requests if f["grant_type"] == "refresh_token"]
    assert len(renewals) == 1
    assert set(_bearers(model_server)) == {signed_in.stored()["tokens"]["access_token"]}


def test_tokens_of_codex_without_an_issuer_work_until_they_expire(person, issuer, model_server):
    tokens = issuer.grant()
    stored = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens}
    person.auth_file.write_text(json.dumps(stored))
    person.auth_file.chmod(0o600)
    model_server.play([[message("hello")], REFUSED])
    assert person.home.run("exec", "hi").returncode == 0
    assert _bearers(model_server) == [tokens["access_token"]]
    finished = person.home.run("exec", "hi")
    assert finished.returncode == 1


def test_a_process_that_died_with_the_lock_holds_nobody_up(signed_in, model_server):
    lock = str(signed_in.home.path / "auth.json.lock")
    dies = "import fcntl, os, sys; file = open(sys.argv[1], 'r+'); fcntl.flock(file, 2); os.abort()"
    died = subprocess.run([sys.executable, "-c", dies, lock], check=False, capture_output=True)
    assert died.returncode < 0
    _age(signed_in, expires_at=1)
    model_server.play([[message("hello")]])
    assert signed_in.home.run("exec", "hi").returncode == 0
