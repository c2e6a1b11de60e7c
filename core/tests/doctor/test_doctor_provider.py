"""Providers that refuse, fail, are not there, or lack the model; and keys that are never shown."""

import ssl
import subprocess

import pytest

from ferrule_testkit.home import API_KEY

ONLY = ("--only", "provider")
MODELS = {"data": [{"id": "gpt-5.5"}, {"id": "gpt-5.5-mini"}]}


@pytest.fixture
def provide(ferrule_home):
    """Configure the provider's address, with more in its table."""

    def configure(base_url, *lines, model="gpt-5.5"):
        ferrule_home.configure()
        file = ferrule_home.path / "config.toml"
        text = file.read_text().replace(f'base_url = "{ferrule_home.base_url}"', "")
        text = text.replace('model = "gpt-5.5"', f'model = "{model}"')
        file.write_text("\n".join([text, f'base_url = "{base_url}"', *lines]))

    return configure


def test_a_provider_that_answers_and_has_the_model_is_sound(doctor, provide, serve):
    server = serve(200, MODELS)
    provide(server.base_url, 'query_params = { v = "1" }', 'http_headers = { x-team = "a" }')

    report = doctor(*ONLY)

    assert [c["status"] for c in report.document["checks"]] == ["ok"] * 4, report.text
    [(path, headers)] = server.asked
    assert path == "/v1/models?v=1"
    assert headers["authorization"] == f"Bearer {API_KEY}"
    assert headers["x-team"] == "a"
    assert API_KEY not in report.text
    assert "SCRIPTED_KEY" in report["provider.credentials"]["detail"]


def test_nothing_is_connected_to_where_that_is_not_wanted(doctor, provide, serve):
    server = serve(200, MODELS)
    provide(server.base_url)

    report = doctor(*ONLY, "--no-network")

    assert report.status("provider.reachable") == "skip"
    assert report.status("provider.credentials") == "ok"
    assert server.asked == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_from_an_unreachable_server(doctor, provide, serve, status):
    server = serve(status, {"error": "no"})
    provide(server.base_url)

    report = doctor(*ONLY)

    assert report.returncode == 1
    assert report.status("provider.reachable") == "fail"
    assert f"refuses the key ({status})" in report["provider.reachable"]["detail"]
    assert [headers.get("x-api-key") for _, headers in server.asked] == [None, API_KEY]
    assert API_KEY not in report.text


def test_a_server_that_wants_a_key_is_fine_where_the_missing_key_is_named(doctor, provide, serve):
    server = serve(401)
    provide(server.base_url, 'env_key_instructions = "Ask Ada for one."')

    report = doctor(*ONLY, environ={"SCRIPTED_KEY": ""})

    assert report.status("provider.credentials") == "fail"
    assert report["provider.credentials"]["mend"] == "Ask Ada for one."
    assert report.status("provider.reachable") == "ok"


@pytest.mark.parametrize(
    ("status", "headers", "judged", "words"),
    [
        (404, {}, "ok", "lists no models"),
        (429, {}, "warn", "may not ask more"),
        (503, {}, "warn", "error 503"),
        (307, {"location": "http://127.0.0.1:9/"}, "warn", "elsewhere (307)"),
        (407, {}, "fail", "wants a password"),
    ],
)
def test_other_answers_are_explained(doctor, provide, serve, status, headers, judged, words):
    provide(serve(status, **headers).base_url)

    found = doctor(*ONLY)["provider.reachable"]

    assert found["status"] == judged
    assert words in found["detail"]


def test_a_closed_port_is_named(doctor, provide, unused_port):
    provide(f"http://127.0.0.1:{unused_port}/v1")

    found = doctor(*ONLY)["provider.reachable"]

    assert found["status"] == "fail"
    assert found["detail"] == f"nothing listens at http://127.0.0.1:{unused_port}/v1"
    assert "start the server of scripted" in found["mend"]


@pytest.fixture
def unused_port():
    """A port that was free a moment ago."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_name_that_nobody_has_is_named(doctor, provide):
    provide("http://nobody.invalid/v1")

    found = doctor(*ONLY)["provider.reachable"]

    assert "the name nobody.invalid cannot be resolved" in found["detail"]


def test_a_certificate_nobody_trusts_is_told_from_a_broken_line(
    doctor, provide, serve, tmp_path, ferrule_home
):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    server = serve(200, MODELS)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    provide(server.base_url.replace("http:", "https:"))

    found = doctor(*ONLY, environ={"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""})["provider.reachable"]
    assert found["status"] == "fail"
    assert "certificate" in found["detail"]
    assert "self-signed" in found["detail"]

    trusting = {"SSL_CERT_FILE": str(certificate), "SSL_CERT_DIR": ""}
    assert doctor(*ONLY, environ=trusting).status("provider.reachable") == "ok"


def test_a_server_without_tls_is_named(doctor, provide, serve):
    provide(serve(200).base_url.replace("http:", "https:"))

    assert "does not speak TLS" in doctor(*ONLY)["provider.reachable"]["detail"]


def test_a_dead_proxy_is_named_without_its_password(doctor, provide, serve, unused_port):
    provide("http://models.example/v1")
    proxy = f"http://ada:hunter2@127.0.0.1:{unused_port}"
    environ = {"http_proxy": proxy, "no_proxy": ""}

    report = doctor("--only", "provider", "network", environ=environ)

    assert (
        report["provider.reachable"]["detail"]
        == f"nothing listens at http://…@127.0.0.1:{unused_port}"
    )
    assert "proxy" in report["provider.reachable"]["mend"]
    assert f"http://…@127.0.0.1:{unused_port}" in report["network.proxy"]["detail"]
    assert "hunter2" not in report.text


def test_a_proxy_is_used_where_one_is_set(doctor, provide, serve):
    proxy = serve(200, MODELS)
    provide("http://models.example/v1")
    address = proxy.base_url.removesuffix("/v1")

    assert doctor(*ONLY, environ={"HTTP_PROXY": address}).status("provider.reachable") == "ok"
    assert proxy.asked[0][0] == "http://models.example/v1/models"
    direct = {"HTTP_PROXY": address, "NO_PROXY": "localhost,.example"}
    assert "cannot be resolved" in doctor(*ONLY, environ=direct)["provider.reachable"]["detail"]


def test_missing_certificates_are_found_without_a_server(doctor):
    environ = {"SSL_CERT_FILE": "/nowhere.pem"}

    found = doctor("--only", "network", environ=environ)["network.certificates"]

    assert found["status"] == "fail"
    assert "/nowhere.pem" in found["detail"]


def test_a_local_server_without_the_model_fails(doctor, provide, serve):
    listed = {"models": [{"name": "qwen2.5-coder:7b"}, {"name": "llama3.1:8b"}]}
    provide(serve(200, listed).base_url, model="qwen2.5-coder:14b")

    found = doctor(*ONLY)["provider.model"]

    assert found["status"] == "fail"
    assert "it has qwen2.5-coder:7b" in found["detail"]
    assert "pull qwen2.5-coder:14b" in found["mend"]


def test_a_server_of_one_model_takes_any_name(doctor, provide, serve):
    provide(serve(200, {"data": [{"id": "weights.gguf"}]}).base_url)

    assert doctor(*ONLY).status("provider.model") == "warn"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (f" {API_KEY}", "begins or ends with blanks"),
        (f'"{API_KEY}"', "in quotes"),
        (f"{API_KEY}\nmore", "a blank or a line break"),
        (f"{API_KEY}é", "letters in it that keys do not have"),
    ],
)
def test_odd_keys_are_described_and_never_shown(doctor, provide, serve, value, words):
    provide(serve(200, MODELS).base_url)

    report = doctor(*ONLY, environ={"SCRIPTED_KEY": value})

    assert report.status("provider.credentials") == "warn"
    assert words in report["provider.credentials"]["detail"]
    assert API_KEY not in report.text


@pytest.mark.parametrize(
    ("command", "status"),
    [("echo token-of-the-day", "ok"), ("exit 3", "fail"), ("true", "fail"), ("sleep 30", "fail")],
)
def test_token_commands_are_run_as_a_session_runs_them(
    doctor, provide, serve, ferrule_home, command, status
):
    server = serve(200, MODELS)
    auth = f'auth = {{ command = "sh", args = ["-c", "{command}"], timeout_ms = 500 }}'
    provide(server.base_url, auth)
    file = ferrule_home.path / "config.toml"
    file.write_text(file.read_text().replace('env_key = "SCRIPTED_KEY"', ""))

    report = doctor(*ONLY)

    assert report.status("provider.credentials") == status
    assert "token-of-the-day" not in report.text
    sent = server.asked[0][1].get("authorization")
    assert sent == ("Bearer token-of-the-day" if status == "ok" else None)


def test_an_address_that_is_none_is_named(doctor, provide):
    provide("ftp://files.example/v1")

    assert "not an http or https address" in doctor(*ONLY)["provider.reachable"]["detail"]


def test_a_wire_nobody_speaks_names_what_to_install(doctor, provide, serve, ferrule_home):
    provide(serve(200, MODELS).base_url)
    file = ferrule_home.path / "config.toml"
    file.write_text(file.read_text().replace('wire_api = "responses"', 'wire_api = "telex"'))

    found = doctor(*ONLY)["provider.plugin"]

    assert found["status"] == "fail"
    assert "telex" in found["detail"]


def test_an_api_with_headers_of_its_own_is_asked_in_its_own_way(
    doctor, provide, serve, ferrule_home
):
    server = serve(200, MODELS)
    provide(server.base_url)
    file = ferrule_home.path / "config.toml"
    file.write_text(file.read_text().replace('wire_api = "responses"', 'wire_api = "anthropic"'))

    assert doctor(*ONLY).status("provider.reachable") == "ok"
    assert server.asked[0][1]["anthropic-version"]


SIGNED_IN = "requires_openai_auth = true"
STORED = "sk-stored-0123456789abcdef"


@pytest.fixture
def stored(ferrule_home):
    """Write `auth.json` as `ferrule login` does."""

    def write(text, mode=0o600):
        file = ferrule_home.path / "auth.json"
        file.write_text(text)
        file.chmod(mode)

    return write


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{{"OPENAI_API_KEY": "{STORED}"}}', "has stored a key in"),
        (f'{{"tokens": {{"access_token": "{STORED}"}}}}', "has stored tokens of an account in"),
    ],
)
def test_what_was_signed_in_with_is_found_and_tried(doctor, provide, serve, stored, text, words):
    server = serve(200, MODELS)
    provide(server.base_url, SIGNED_IN)
    stored(text)

    report = doctor(*ONLY, environ={"SCRIPTED_KEY": ""})

    assert report.status("provider.credentials") == "ok"
    assert words in report["provider.credentials"]["detail"]
    assert server.asked[0][1]["authorization"] == f"Bearer {STORED}"
    assert STORED not in report.text


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        (f'{{"OPENAI_API_KEY": "{STORED}"}}', 0o644, "is open to other users (mode 644)"),
        ("{", 0o600, "is damaged"),
        ('{"auth_mode": "apikey"}', 0o600, "holds neither a key nor a token"),
    ],
)
def test_a_sign_in_that_no_session_would_use_is_told(doctor, provide, stored, text, mode, words):
    provide("http://127.0.0.1:9/v1", SIGNED_IN)
    stored(text, mode)

    found = doctor(*ONLY, "--no-network", environ={"SCRIPTED_KEY": ""})["provider.credentials"]

    assert found["status"] == "fail"
    assert words in found["detail"]


def test_a_keyring_is_not_woken_by_the_doctor(doctor, provide, stored):
    provide("http://127.0.0.1:9/v1", SIGNED_IN)
    stored('{"auth_mode": "chatgpt", "kept_in": "keyring"}')
    found = doctor(*ONLY, "--no-network", environ={"SCRIPTED_KEY": ""})["provider.credentials"]
    assert (found["status"], "keyring" in found["detail"]) == ("ok", True)


def test_a_variable_counts_before_what_was_signed_in_with(doctor, provide, stored):
    provide("http://127.0.0.1:9/v1", SIGNED_IN)
    stored("{")
    for name in ("SCRIPTED_KEY", "CODEX_API_KEY"):
        environ = {"SCRIPTED_KEY": "", name: "sk-variable-0123456789"}
        found = doctor(*ONLY, "--no-network", environ=environ)["provider.credentials"]
        assert (found["status"], name in found["detail"]) == ("ok", True)
