"""`ferrule login`: a person agrees in a browser, which comes back to an address of this machine."""

import base64
import hashlib
import re
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx
import pytest


def test_signing_in_stores_tokens_that_only_the_user_can_read(person, issuer):
    code, said = person.sign_in()

    assert code == 0, said
    assert f"Signed in as ada@example.com at {issuer.url} (plan pro)" in said
    assert stat.S_IMODE(person.auth_file.stat().st_mode) == 0o600
    stored = person.stored()
    assert stored["auth_mode"] == "chatgpt"
    assert stored["OPENAI_API_KEY"] is None
    assert stored["tokens"]["access_token"] in issuer.state.access_tokens
    assert stored["tokens"]["refresh_token"] in issuer.state.refresh_tokens
    assert stored["tokens"]["account_id"] == "acct-7"
    assert stored["oauth"]["token_endpoint"] == f"{issuer.url}/token"


def test_nothing_secret_is_ever_said(signed_in, issuer):
    said = signed_in.home.run("login", "status")
    texts = [said.stdout + said.stderr]
    waiting = signed_in.begin()
    signed_in.browse(waiting.url)
    texts.append(waiting.end()[1])
    stored = signed_in.stored()["tokens"]
    verifier = issuer.state.token_requests[-1]["code_verifier"]
    for secret in (stored["access_token"], stored["refresh_token"], stored["id_token"], verifier):
        assert not any(secret in text for text in texts)


def test_the_request_is_bound_to_a_verifier_a_state_and_this_machine(person, issuer):
    waiting = person.begin()
    query = waiting.query
    assert query["code_challenge_method"] == "S256"
    assert query["scope"] == "openid profile email offline_access"
    back = urlsplit(query["redirect_uri"])
    assert (back.hostname, back.path) == ("127.0.0.1", "/auth/callback")
    person.browse(waiting.url)
    assert waiting.end()[0] == 0
    form = issuer.state.token_requests[0]
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    assert query["code_challenge"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_the_browser_is_told_how_it_ended(person):
    waiting = person.begin()
    page = person.browse(waiting.url)
    assert page.status_code == 200
    assert "Signed in" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("state", ["", "wrong"], ids=["none", "another"])
def test_a_page_that_guesses_the_state_ends_nothing(person, state):
    waiting = person.begin()
    forged = urlencode({"code": "stolen", "state": state})
    answer = httpx.get(f"{waiting.query['redirect_uri']}?{forged}")
    assert answer.status_code == 403

    person.browse(waiting.url)  # the person's own browser still gets through
    assert waiting.end()[0] == 0


def test_a_denial_with_a_guessed_state_ends_nothing(person):
    waiting = person.begin()
    httpx.get(f"{waiting.query['redirect_uri']}?error=access_denied&state=x")
    person.browse(waiting.url)
    assert waiting.end()[0] == 0


def test_a_code_serves_once(person, issuer):
    issuer.state.hold.clear()
    waiting = person.begin()
    back = httpx.get(waiting.url).headers["location"]
    with ThreadPoolExecutor() as pool:
        first = pool.submit(httpx.get, back, timeout=120)
        assert issuer.state.asked.wait(20)
        assert httpx.get(back).status_code == 410
        issuer.state.hold.set()
        assert first.result().status_code == 200
    assert waiting.end()[0] == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(back)
    assert len(issuer.state.token_requests) == 1


def test_a_name_that_leads_to_this_machine_is_refused(person):
    waiting = person.begin()
    back = urlsplit(waiting.query["redirect_uri"])
    answer = httpx.get(
        urlunsplit(back._replace(query=f"state={waiting.query['state']}&code=x")),
        headers={"host": f"evil.example:{back.port}"},
    )
    assert answer.status_code == 400
    assert waiting.process.poll() is None


def test_it_listens_on_this_machine_only(person):
    waiting = person.begin()
    port = urlsplit(waiting.query["redirect_uri"]).port
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    bound = {line[1].split(":")[0] for line in lines if line[1].endswith(f":{port:04X}")}
    assert bound == {"0100007F"}


def test_a_code_of_another_attempt_is_not_taken(person, issuer):
    """Whoever puts their own code in the place of the person's lacks the verifier."""
    waiting = person.begin()
    query = {**waiting.query, "code_challenge": "A" * 43}
    page = person.browse(f"{issuer.url}/authorize?{urlencode(query)}")
    code, said = waiting.end()
    assert (code, page.status_code) == (1, 400)
    assert "the issuer does not take the code (invalid_grant)" in said
    assert not person.auth_file.exists()


def test_a_person_may_refuse(person, issuer):
    issuer.state.is_denied = True
    code, said = person.sign_in()
    assert code == 1
    assert "access was denied" in said
    assert not person.auth_file.exists()


@pytest.mark.parametrize(
    ("field", "word"), [("nonce", "nonce"), ("audience", "audience")], ids=["nonce", "audience"]
)
def test_an_identity_meant_for_somebody_else_is_not_taken(person, issuer, field, word):
    setattr(issuer.state, field, "somebody-else")
    code, said = person.sign_in()
    assert code == 1
    assert f"the identity token has another {word} than expected" in said
    assert not person.auth_file.exists()


def test_ctrl_c_ends_it_and_frees_the_port(person):
    waiting = person.begin()
    code, said = waiting.interrupt()
    assert code == 130, said
    assert "Traceback" not in said
    port = urlsplit(waiting.query["redirect_uri"]).port
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", port)) != 0


def test_a_registered_port_may_be_named(person, issuer, free_port):
    uri = f"http://localhost:{free_port}/auth/callback"
    person.home.configure(tables=issuer.login_table(redirect_uri=uri))
    waiting = person.begin()
    assert waiting.query["redirect_uri"] == uri
    person.browse(waiting.url)
    assert waiting.end()[0] == 0


def test_a_port_that_is_taken_is_named(person, issuer):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        uri = f"http://127.0.0.1:{port}/auth/callback"
        person.home.configure(tables=issuer.login_table(redirect_uri=uri))
        finished = person.home.run("login")
    assert finished.returncode == 1
    assert f"cannot listen at port {port}" in finished.stderr
    assert "--device-auth" in finished.stderr


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"redirect_uri": "https://example.com/cb"}, "login.redirect_uri must be an address of"),
        ({"issuer": "http://example.com"}, "login.issuer must be an https address"),
        ({"token_endpoint": "http://example.com/t"}, "login.token_endpoint must be an https"),
        ({"client_id": ""}, "needs `issuer` and `client_id` in the table [login]"),
    ],
    ids=["redirect elsewhere", "plain http", "plain http token", "no client id"],
)
def test_a_table_that_would_give_secrets_away_is_refused(person, issuer, table, words):
    person.home.configure(tables=issuer.login_table(**table))
    finished = person.home.run("login")
    assert finished.returncode != 0
    assert words in finished.stderr


def test_an_issuer_that_speaks_for_another_is_refused(person, issuer):
    other = issuer.url.replace("127.0.0.1", "localhost")
    person.home.configure(tables=issuer.login_table(issuer=other))
    finished = person.home.run("login")
    assert finished.returncode == 1
    assert "speaks for another issuer" in finished.stderr


def test_an_issuer_that_is_not_there_is_named(person, issuer):
    person.home.configure(tables=issuer.login_table(issuer="http://127.0.0.1:9"))
    finished = person.home.run("login")
    assert finished.returncode == 1
    assert "cannot reach the issuer http://127.0.0.1:9" in finished.stderr


def test_a_project_cannot_say_where_one_signs_in(person):
    folder = person.home.workspace / ".ferrule"
    folder.mkdir()
    (folder / "config.toml").write_text('[login]\nissuer = "https://evil.example"\n')
    person.home.run("config", "trust")
    waiting = person.begin()
    assert "evil.example" not in waiting.url
    person.browse(waiting.url)
    assert waiting.end()[0] == 0


def test_only_the_workspace_that_is_required_may_be_signed_in_with(person, issuer):
    top = 'forced_chatgpt_workspace_id = "acct-8"'
    person.home.configure(top=top, tables=issuer.login_table())
    code, said = person.sign_in()
    assert code == 1
    assert "forced_chatgpt_workspace_id" in said
    assert not person.auth_file.exists()


def test_configured_parameters_cannot_replace_what_protects(person, issuer):
    table = issuer.login_table() + '[login.parameters]\nstate = "known"\nprompt = "login"\n'
    person.home.configure(tables=table)
    waiting = person.begin()
    assert waiting.query["prompt"] == "login"
    assert waiting.query["state"] != "known"
    assert len(re.findall(r"[?&]state=", waiting.url)) == 1
