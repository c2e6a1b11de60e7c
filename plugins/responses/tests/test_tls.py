"""A server with a certificate: trusted or not at all, over either channel."""

import shutil
import ssl
import subprocess

import pytest

from ferrule_hookspecs.provider import ItemDone
from ferrule_testkit.model_items import message
from ferrule_testkit.model_server import ScriptedModelServer

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs the program openssl to make a certificate"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 that nobody has signed, in one file with its key."""
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", f"{file}.crt"]
    subprocess.run(command, check=True, capture_output=True)
    with file.open("a") as both:
        both.write((file.parent / "server.pem.crt").read_text())
    return file


@pytest.fixture
def secure_server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ScriptedModelServer([[message("a")], [message("b")]], ssl_context=context) as server:
        yield server


@pytest.fixture(params=["direct", "httpx"], autouse=True)
def channel(request, monkeypatch):
    if request.param == "httpx":
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_certificate_nobody_vouches_for_is_refused(secure_server, talk):
    error = talk(base_url=secure_server.base_url).error
    assert str(error).startswith(
        f"the certificate of {secure_server.base_url}/responses cannot be trusted: self-signed"
    )
    assert not error.retryable
    assert secure_server.requests == []


def test_a_certificate_of_the_named_authority_is_trusted(
    secure_server, talk, make_request, certificate, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    heard = talk(make_request(), make_request(), base_url=secure_server.base_url)
    assert [one.of(ItemDone)[0].item for one in heard] == [message("a"), message("b")]
    assert len({request.connection for request in secure_server.requests}) == 1


def test_a_plain_server_behind_an_https_url_is_an_error_in_words(model_server, talk):
    url = model_server.base_url.replace("http:", "https:")
    error = talk(base_url=url, request_max_retries=0).error
    assert f"cannot reach {url}/responses: " in str(error)


def test_a_websocket_trusts_the_named_authority_as_well(
    secure_server, certificate, talk, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    heard = talk(base_url=secure_server.base_url, supports_websockets=True)
    assert heard.of(ItemDone)[0].item == message("a")
    assert len(secure_server.messages) == 1


def test_a_websocket_is_refused_where_nobody_vouches(secure_server, talk):
    error = talk(base_url=secure_server.base_url, supports_websockets=True).error
    assert "could not be opened: self-signed certificate; going on over HTTP" in str(error)
    assert secure_server.messages == []
