"""Before a socket is a client: tokens, hosts, origins, health, and how many may come."""

from __future__ import annotations

import anyio
import pytest
from websockets.exceptions import InvalidStatus

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_hookspecs.serving import Endpoint
from ferrule_websocket.transports import WebSocketTransport

pytestmark = pytest.mark.anyio
TOKEN = "c0ffee" * 8


@pytest.fixture
def auth(token_file):
    return {"ws-auth": "capability-token", "ws-token-file": str(token_file)}


async def refused(served, **options):
    with pytest.raises(InvalidStatus) as error:
        await served.client(**options)
    return error.value.response


def get(path, *headers, method="GET", host="localhost"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""])


UPGRADE = (
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


@pytest.mark.parametrize("path", ["/readyz", "/healthz", "/readyz?x=1"])
async def test_health_is_told(serve, kind, path):
    async with serve(kind) as served:
        assert (await served.http(get(path))).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "request_",
    [get("/"), get("/other"), get("/readyz", method="POST"), get("/", "Upgrade: h2c")],
    ids=["root", "other", "post", "another upgrade"],
)
async def test_everything_else_is_a_bad_request(serve, kind, request_):
    async with serve(kind) as served:
        assert (await served.http(request_)).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/", "/readyz", "/healthz", "/other", "/x/../readyz"])
@pytest.mark.parametrize("headers", [(), UPGRADE], ids=["get", "upgrade"])
@pytest.mark.parametrize(
    "token",
    [None, "Bearer x", f"Basic {TOKEN}", "Bearer " + "x" * 7000, f"Bearer {TOKEN}\u00ff"],
    ids=["none", "wrong", "basic", "huge", "binary"],
)
async def test_without_the_token_there_is_401_and_nothing_else(serve, auth, path, headers, token):
    sent = (*headers, f"Authorization: {token}") if token else headers
    request = get(path, *sent, host="evil.example").encode("latin-1")
    async with serve(options=auth) as served:
        head, _, body = (await served.http(request)).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b"WWW-Authenticate: Bearer" in head
    assert body == b"Unauthorized\n"
    assert not served.server.received


async def test_with_the_token_a_client_comes_in(serve, auth):
    async with serve(options=auth) as served:
        assert await served.echoes(TOKEN)


async def test_a_unix_socket_asks_its_file_and_no_token(serve, auth):
    async with serve("unix", options=auth) as served:
        assert await served.echoes()


async def test_an_origin_is_refused(serve, kind):
    async with serve(kind) as served:
        assert (await refused(served, origin="http://evil.example")).status_code == 403
        answer = await served.http(get("/readyz", "Origin: http://evil.example"))

        assert answer.startswith(b"HTTP/1.1 403")


async def test_a_listed_origin_comes_in(serve):
    async with serve(allowed_origins=["http://localhost:3000"]) as served:
        async with served.client(origin="http://localhost:3000"):
            pass

        assert (await refused(served, origin="http://localhost:3001")).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", ""])
async def test_a_host_that_is_not_this_machine_is_refused(serve, host):
    async with serve() as served:
        assert (await served.http(get("/", *UPGRADE, host=host))).startswith(b"HTTP/1.1 403")


async def test_what_others_can_reach_is_refused_without_authentication(serve):
    with pytest.raises(ExceptionGroup) as group:
        async with serve(url="ws://0.0.0.0:0"):
            pytest.fail("it listens")

    (error,) = group.value.exceptions
    assert isinstance(error, FerruleError)
    assert "--ws-auth" in str(error)


async def test_with_authentication_others_may_reach_it(serve, auth):
    async with serve(url="ws://0.0.0.0:0", options=auth) as served:
        assert served.url.startswith("ws://0.0.0.0:")
        answer = await served.http(get("/readyz", f"Authorization: Bearer {TOKEN}"))

        assert answer.startswith(b"HTTP/1.1 200")


async def test_more_clients_than_allowed_are_sent_away_until_one_leaves(serve, kind):
    async with serve(kind, max_connections=2) as served:
        async with served.client(), served.client():
            response = await refused(served)
            assert response.status_code == 503
            assert response.headers["Retry-After"]
        await served.server.until_nobody_is_left()

        assert await served.echoes()


async def test_clients_that_come_too_often_are_told_to_wait(serve):
    async with serve(connections_per_second=1) as served:
        taken = 0
        while (response := await answered(served)).status_code == 101:
            taken += 1

    assert taken >= 2
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "1"


async def answered(served):
    try:
        async with served.client() as link:
            return link.response
    except InvalidStatus as error:
        return error.response


async def test_one_who_says_nothing_is_hung_up_on(serve, kind):
    async with serve(kind, handshake_timeout_s=1) as served:
        assert not await served.http("GET / HT")


async def test_sockets_that_never_become_clients_are_bounded(serve):
    async with serve(max_connections=1) as served:
        silent = [await served.stream() for _ in range(80)]
        with anyio.fail_after(120), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await silent[-1].receive()
        for stream in silent:
            await stream.aclose()
        with anyio.fail_after(120):
            while not await still_serves(served):
                await anyio.sleep(0.01)


async def still_serves(served):
    try:
        return await served.echoes()
    except (OSError, EOFError, InvalidStatus):
        return False


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_connections": 0}, r"transports\.websocket\.max_connections must be"),
        ({"allowed_origins": "x"}, r"transports\.websocket\.allowed_origins must be a list"),
        ({"alowed_origins": []}, r"transports\.websocket has no key 'alowed_origins'"),
    ],
    ids=["zero", "no list", "misspelt"],
)
async def test_settings_that_do_not_fit_are_named(tmp_path, settings, said):
    transport = WebSocketTransport(PluginContext(home=tmp_path, config={}, settings=settings))
    with pytest.raises(ConfigError, match=said):
        await transport.serve(None, Endpoint("ws://127.0.0.1:0"), print)
