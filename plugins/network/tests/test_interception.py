"""Tunnels that the proxy opens: rules about paths, secrets put in, and nothing else."""

import datetime
import json
import shutil
import ssl
import stat
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import httpx
import pytest
from anyio.streams.tls import TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec

from ferrule_hookspecs.egress import EgressAnswer
from ferrule_network.authority import Authority
from ferrule_network.interceptor import Interceptor
from ferrule_network.network_log import NetworkLog, Subject

pytestmark = pytest.mark.anyio

API = "allow network protocol:https host:api.test port:{port} path:/v1/*"
SECRET = "s3cret-of-the-host"
NAMES = {"api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}


def identifier(key):
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def make_certificate(name, issuer=None, *, days=30):
    """A certificate of an authority of the tests, or that authority itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=60))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(identifier(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
                identifier(issuer.key if issuer else key)
            ),
            critical=False,
        )
        .add_extension(
            x509.KeyUsage(
                True, False, False, False, False, issuer is None, issuer is None, False, False
            ),
            critical=True,
        )
    )
    certificate = builder.sign(issuer.key if issuer else key, hashes.SHA256())
    return SimpleNamespace(
        key=key, certificate=certificate, pem=certificate.public_bytes(form.Encoding.PEM)
    )


def serving(folder, made):
    """What a server of that certificate speaks."""
    key = made.key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    path = folder / "server.pem"
    path.write_bytes(key + made.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@pytest.fixture(scope="session")
def authority():
    return make_certificate("Test Authority")


@pytest.fixture
def opened(network, tmp_path, authority):
    """Opens a world whose proxy looks into tunnels to api.test."""

    @asynccontextmanager
    async def opened(*rules, made=None, credentials=(), environ=None, ask=None, home=None):
        file = tmp_path / "authorities.pem"
        file.write_bytes(authority.pem)
        home = home or tmp_path / "home"
        interceptor = Interceptor(home, {"SSL_CERT_FILE": str(file), **(environ or {})})

        def opening(port):
            entries = [
                {**entry, "host": entry["host"].replace("{port}", str(port))}
                for entry in credentials
            ]
            return {"tls": {"intercept": ["api.test"]}, "credentials": entries}, interceptor

        tls = serving(tmp_path, made or make_certificate("api.test", authority))
        async with network(*rules, names=NAMES, tls=tls, opening=opening, ask=ask) as world:
            world.bundle = interceptor.bundle
            world.home = home
            interceptor.prepare()
            yield world

    return opened


def client(world, **options):
    """A client as a command has it: it knows the proxy and the file of authorities."""
    url = world.credential.url("http", f"127.0.0.1:{world.port}")
    context = ssl.create_default_context(cafile=str(world.bundle))
    return httpx.AsyncClient(proxy=url, verify=context, trust_env=False, timeout=120, **options)


def url(world, path, host="api.test"):
    return f"https://{host}:{world.origin.port}{path}"


@asynccontextmanager
async def within(world, host="api.test", protocols=("http/1.1",)):
    """Bytes within a tunnel, as a client that can say anything would write them."""
    async with await world.open() as raw:
        where = f"{host}:{world.origin.port}"
        await raw.send(world.request(f"CONNECT {where} HTTP/1.1", host=where))
        assert b" 200 " in await raw.receive()
        context = ssl.create_default_context(cafile=str(world.bundle))
        context.set_alpn_protocols(list(protocols))
        yield await TLSStream.wrap(
            raw, hostname=host, ssl_context=context, standard_compatible=False
        )


async def said(stream, *lines):
    """Send the lines of a request and read the first line of the answer."""
    await stream.send("\r\n".join([*lines, "", ""]).encode())
    return (await stream.receive()).split(b"\r\n")[0]


async def test_a_request_within_its_paths_arrives_and_is_answered(opened):
    async with opened(API) as world, client(world) as http:
        answer = await http.get(url(world, "/v1/things?key=1"))

        assert (answer.status_code, answer.text) == (200, "origin")
    [head] = world.origin.heads
    assert head.startswith(b"GET /v1/things?key=1 HTTP/1.1\r\nHost: api.test:")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v2/x",
        "/V1/x",
        "/v1",
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1/..;/admin",
        "/v1//x",
        "/v1/%2fx",
        "/v1/%252e",
        "/v1/a\\b",
    ],
)
async def test_a_request_beyond_its_paths_is_refused_and_nothing_reaches_the_host(opened, path):
    async with opened(API) as world, within(world) as stream:
        answer = await said(stream, f"GET {path} HTTP/1.1", f"Host: api.test:{world.origin.port}")

        assert b" 403 " in answer
        assert world.origin.connections == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/users", 200),
        ("/v1/admin/keys", 403),
        ("/v1/ADMIN/keys", 403),
        ("/v1/%61dmin/keys", 403),
        ("/v1/x/../admin/keys", 403),
    ],
)
async def test_what_is_denied_by_path_is_denied_in_every_spelling(opened, path, status):
    rules = (
        "allow network protocol:https host:api.test port:{port}",
        "deny network host:api.test path:/v1/admin/*",
    )
    async with opened(*rules) as world, within(world) as stream:
        answer = await said(stream, f"GET {path} HTTP/1.1", f"Host: api.test:{world.origin.port}")

    assert f" {status} ".encode() in answer


async def test_methods_count_within_tunnels(opened):
    async with opened(f"{API} method:GET,HEAD") as world, client(world) as http:
        read = await http.get(url(world, "/v1/x"))
        written = await http.post(url(world, "/v1/x"), content=b"data")

    assert (read.status_code, written.status_code) == (200, 403)
    assert "method:POST path:/v1/x" in written.text


async def test_one_connection_serves_several_requests_with_bodies(opened):
    async with opened(API) as world, client(world) as http:
        for number in range(3):
            answer = await http.post(url(world, f"/v1/{number}"), content=b"x" * 100_000)
            assert answer.text == "origin"
            refused = await http.get(url(world, "/private"))
            assert refused.status_code == 403

    assert [len(body) for body in world.origin.bodies] == [100_000] * 3


async def test_a_long_answer_arrives_whole(opened):
    body = bytes(range(256)) * 8192
    async with opened(API) as world, client(world) as http:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        world.origin.answers[b"/v1/long"] = head + body
        answer = await http.get(url(world, "/v1/long"))

    assert answer.content == body


async def test_a_secret_is_put_in_and_the_command_never_has_it(opened):
    credentials = [
        {"host": "api.test:{port}", "header": "Authorization", "value": "Bearer ${TOKEN}"}
    ]
    async with (
        opened(API, credentials=credentials, environ={"TOKEN": SECRET}) as world,
        client(world, headers={"Authorization": "Bearer placeholder"}) as http,
    ):
        answer = await http.get(url(world, "/v1/x"))
        log = NetworkLog(world.home)
        for event in world.events:
            log.write(Subject("t1", "u1", "c1", ("curl",)), event)

    [head] = world.origin.heads
    assert f"Authorization: Bearer {SECRET}".encode() in head
    assert b"placeholder" not in head
    assert SECRET not in str(answer.headers)
    assert SECRET not in repr(world.events)
    assert SECRET not in (world.home / "log" / "network.jsonl").read_text()


async def test_a_secret_for_another_port_is_left_out(opened):
    credentials = [
        {"host": f"api.test:{port}", "header": header, "value": "${TOKEN}"}
        for port, header in (("{port}", "X-Own"), ("1", "X-Other"))
    ]
    async with (
        opened(API, credentials=credentials, environ={"TOKEN": SECRET}) as world,
        client(world) as http,
    ):
        await http.get(url(world, "/v1/x"))

    assert b"X-Own" in world.origin.heads[0]
    assert b"X-Other" not in world.origin.heads[0]


async def test_a_program_can_print_the_secret(opened):
    credentials = [
        {"host": "api.test:{port}", "header": "X-Key", "command": ["printf", "%s\\n", SECRET]}
    ]
    async with opened(API, credentials=credentials) as world, client(world) as http:
        await http.get(url(world, "/v1/x"))

    assert f"X-Key: {SECRET}".encode() in world.origin.heads[0]


@pytest.mark.parametrize(
    ("entry", "environ", "why"),
    [
        ({"value": "${TOKEN}"}, {}, "TOKEN is not set"),
        ({"value": "${TOKEN}"}, {"TOKEN": f"{SECRET}\r\nX-More: 1"}, "no value of a header"),
        ({"command": ["sh", "-c", f"echo {SECRET}; exit 3"]}, {}, "failed with status 3"),
        ({"command": ["/nonexistent/program"]}, {}, "cannot be started"),
    ],
    ids=["missing", "two lines", "failing", "no program"],
)
async def test_without_its_secret_nothing_is_sent(opened, entry, environ, why):
    credentials = [{"host": "api.test:{port}", "header": "Authorization", **entry}]
    async with (
        opened(API, credentials=credentials, environ=environ) as world,
        client(world) as http,
    ):
        answer = await http.get(url(world, "/v1/x"))

    assert answer.status_code == 502
    assert why in answer.text
    assert SECRET not in answer.text
    assert world.origin.heads == []


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /v1/x HTTP/1.1", "Host: other.test:{port}"),
        ("GET /v1/x HTTP/1.1", "Host: api.test:1"),
        ("GET /v1/x HTTP/1.1", "Host: api.test:{port}", "Host: other.test:{port}"),
        ("GET /v1/x HTTP/1.0",),
        ("GET https://other.test/v1/x HTTP/1.1", "Host: api.test:{port}"),
        ("GET http://api.test:{port}/v1/x HTTP/1.1", "Host: api.test:{port}"),
        ("CONNECT other.test:443 HTTP/1.1", "Host: api.test:{port}"),
        ("OPTIONS * HTTP/1.1", "Host: api.test:{port}"),
        (
            "POST /v1/x HTTP/1.1",
            "Host: api.test:{port}",
            "Content-Length: 3",
            "Transfer-Encoding: chunked",
        ),
        ("PRI * HTTP/2.0", "", "SM"),
    ],
    ids=[
        "other host",
        "other port",
        "two hosts",
        "no host",
        "whole address",
        "own whole address",
        "tunnel",
        "asterisk",
        "two lengths",
        "HTTP/2",
    ],
)
async def test_what_is_no_plain_request_to_the_host_of_the_tunnel_is_refused(opened, lines):
    rule = "allow network protocol:https host:api.test port:{port}"
    async with opened(rule) as world, within(world) as stream:
        written = [line.replace("{port}", str(world.origin.port)) for line in lines]

        assert b" 400 " in await said(stream, *written)
        assert world.origin.connections == 0


async def test_http_1_1_is_all_that_is_offered(opened):
    async with opened(API) as world, within(world, protocols=("h2", "http/1.1")) as stream:
        assert stream.extra(anyio.streams.tls.TLSAttribute.alpn_protocol) == "http/1.1"


async def test_what_is_no_tls_within_a_tunnel_is_closed_and_recorded(opened, to_end):
    async with opened(API) as world:
        where = f"api.test:{world.origin.port}"
        async with await world.open() as raw:
            connect = world.request(f"CONNECT {where} HTTP/1.1", host=where)
            await raw.send(connect + b"SSH-2.0-client\r\n")
            await to_end(raw)
        assert world.origin.connections == 0

    assert [event.kind for event in world.events] == ["refused"]
    assert "TLS with the command failed" in world.events[0].reason


async def test_a_program_that_does_not_trust_the_proxy_is_recorded(opened, to_end):
    async with opened(API) as world:
        where = f"api.test:{world.origin.port}"
        async with await world.open() as raw:
            await raw.send(world.request(f"CONNECT {where} HTTP/1.1", host=where))
            await raw.receive()
            with pytest.raises(ssl.SSLCertVerificationError):
                await TLSStream.wrap(
                    raw, hostname="api.test", ssl_context=ssl.create_default_context()
                )
            await raw.send_eof()
            await to_end(raw)

    assert [event.kind for event in world.events] == ["refused"]
    assert "SSL_CERT_FILE" in world.events[0].reason


@pytest.mark.parametrize(
    "fault", ["unknown authority", "other name", "expired"], ids=lambda fault: fault
)
async def test_a_host_that_does_not_show_who_it_is_gets_nothing(opened, authority, fault):
    made = {
        "unknown authority": lambda: make_certificate("api.test", make_certificate("Nobody")),
        "other name": lambda: make_certificate("evil.test", authority),
        "expired": lambda: make_certificate("api.test", authority, days=-1),
    }[fault]()
    credentials = [{"host": "api.test:{port}", "header": "Authorization", "value": "${TOKEN}"}]
    async with (
        opened(API, made=made, credentials=credentials, environ={"TOKEN": SECRET}) as world,
        client(world) as http,
    ):
        answer = await http.get(url(world, "/v1/x"))

    assert answer.status_code == 502
    assert "certificate" in answer.text
    assert world.origin.heads == []
    assert "failed" in [event.kind for event in world.events]


async def test_tunnels_to_other_hosts_stay_as_they_are(opened, authority):
    rule = "allow network protocol:https host:other.test port:{port}"
    made = make_certificate("other.test", authority)
    credentials = [{"host": "api.test:{port}", "header": "Authorization", "value": "${TOKEN}"}]
    async with (
        opened(rule, made=made, credentials=credentials, environ={"TOKEN": SECRET}) as world,
        within(world, "other.test") as stream,
    ):
        seen = stream.extra(anyio.streams.tls.TLSAttribute.peer_certificate_binary)
        await said(stream, "GET /x HTTP/1.1", f"Host: other.test:{world.origin.port}")

    assert seen == made.certificate.public_bytes(form.Encoding.DER)
    assert SECRET.encode() not in world.origin.heads[0]


async def test_a_host_whose_tunnels_are_opened_has_no_closed_ones_by_socks(opened):
    rule = "allow network protocol:socks5_tcp host:api.test port:{port}"
    async with opened(rule) as world:
        stream, reply = await world.socks("api.test", world.origin.port)
        await stream.aclose()

    assert reply[1] == 2
    assert world.origin.connections == 0


async def test_the_record_names_method_host_and_path_without_the_query(opened):
    async with opened(API) as world, client(world) as http:
        await http.get(url(world, "/v1/x?token=abc"))
        await http.get(url(world, "/v2/x?token=abc"))
        log = NetworkLog(world.home)
        for event in world.events:
            log.write(Subject("t1", "u1", "c1", ("curl",)), event)

    text = (world.home / "log" / "network.jsonl").read_text()
    seen = {
        (record["kind"], record["method"], record["host"], record["path"])
        for record in map(json.loads, text.splitlines())
    }
    assert seen == {
        ("allowed", "GET", "api.test", "/v1/x"),
        ("closed", "GET", "api.test", "/v1/x"),
        ("refused", "GET", "api.test", "/v2/x"),
    }
    assert "abc" not in text


async def test_somebody_is_asked_about_requests_and_not_about_the_tunnel(opened):
    questions = []

    async def answer(question):
        questions.append(str(question.target))
        return EgressAnswer(accepted=question.target.method == "GET")

    rule = "ask network host:api.test"
    async with opened(rule, ask=answer) as world, client(world) as http:
        read = await http.get(url(world, "/a"))
        again = await http.get(url(world, "/b"))
        written = await http.delete(url(world, "/a"))

    assert [read.status_code, again.status_code, written.status_code] == [200, 200, 403]
    port = world.origin.port
    assert questions == [f"GET api.test:{port}", f"DELETE api.test:{port}"]


async def test_the_authority_is_made_once_and_its_key_is_its_owner_s(opened, tmp_path):
    kept = []
    for _ in range(2):
        async with opened(API) as world, client(world) as http:
            assert (await http.get(url(world, "/v1/x"))).status_code == 200
            kept.append((world.home / "network" / "ca.pem").read_bytes())

    assert kept[0] == kept[1]
    key = tmp_path / "home" / "network" / "ca.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert b"PRIVATE KEY" not in world.bundle.read_bytes()


async def test_processes_that_begin_at_the_same_time_have_one_authority(tmp_path):
    made = []

    def make():
        made.append(Authority(tmp_path).pem)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(anyio.to_thread.run_sync, make)

    assert len(made) == 8
    assert len(set(made)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.key", "ca.pem"]


@pytest.mark.parametrize("fault", ["damaged", "readable"])
async def test_an_authority_that_is_not_to_be_trusted_closes_the_host(opened, tmp_path, fault):
    async with opened(API) as world:
        key = world.home / "network" / "ca.key"
        if fault == "damaged":
            key.write_text("nothing")
        else:
            key.chmod(0o644)
        broken = Interceptor(world.home, {})
        world.proxy._gate.interceptor = broken
        where = f"api.test:{world.origin.port}"
        answer = await world.exchange(world.request(f"CONNECT {where} HTTP/1.1", host=where))

    assert b" 403 " in answer
    assert b"remove the file" in answer
    assert world.events[-1].kind == "refused"


async def test_without_an_interceptor_the_host_is_closed(network):
    def opening(port):
        return {"tls": {"intercept": ["api.test"]}}, None

    async with network("allow network host:api.test port:{port}", opening=opening) as world:
        where = f"api.test:{world.origin.port}"
        answer = await world.exchange(world.request(f"CONNECT {where} HTTP/1.1", host=where))

    assert b" 403 " in answer
    assert world.origin.connections == 0


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
async def test_curl_finds_the_authority_by_the_variables(opened):
    async with opened(API) as world:
        environment = {
            "HTTPS_PROXY": world.credential.url("http", f"127.0.0.1:{world.port}"),
            "CURL_CA_BUNDLE": str(world.bundle),
        }
        command = ["curl", "-sS", "--http2", "-w", " %{http_code}"]
        answers = [
            (await anyio.run_process([*command, url(world, path)], env=environment)).stdout
            for path in ("/v1/x", "/v2/x")
        ]

    assert answers[0] == b"origin 200"
    assert answers[1].endswith(b" 403")
