"""Who is let in, from where, and how much: tokens, hosts, origins, sizes and rates."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_testkit.echo_server import EchoServer

pytestmark = pytest.mark.anyio
TOKEN = "c0ffee" * 8
PAGE = "http://localhost:3000"
EVERYTHING = [
    (method, path)
    for path in ("/connection", "/rpc", "/events", "/readyz", "/healthz", "/", "/other", "//rpc")
    for method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT")
]


@pytest.fixture
def auth(token_file):
    return {"ws-auth": "capability-token", "ws-token-file": str(token_file)}


async def test_without_the_token_there_is_401_on_every_path(serve, auth):
    sent = [{}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {TOKEN}"}]
    sent.append({"Authorization": "Bearer " + "x" * 10_000, "Origin": "http://evil.example"})
    async with serve(options=auth) as served:
        client = await served.open(Authorization=f"Bearer {TOKEN}")
        for method, path in EVERYTHING:
            for headers in sent:
                response = await served.web.request(
                    method,
                    path,
                    headers={"Ferrule-Connection": client["Ferrule-Connection"], **headers},
                )
                assert response.status_code == 401, (method, path)
                assert response.headers["WWW-Authenticate"] == "Bearer"
                assert response.text in ("Unauthorized\n", "")
        assert served.server.received == 0


async def test_with_the_token_a_client_is_served(serve, auth):
    async with serve(options=auth) as served:
        assert await served.echoes(Authorization=f"Bearer {TOKEN}")


async def test_a_body_without_the_token_is_not_read(serve, auth):
    request = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n"
    async with serve(options=auth) as served:
        answer = await said_to(served, request + b"x" * 1000)

    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
async def test_a_host_that_is_not_this_machine_is_refused(serve, host):
    async with serve() as served:
        for method, path in EVERYTHING:
            response = await served.web.request(method, path, headers={"Host": host})
            assert response.status_code == 403, (method, path)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3001"])
async def test_an_origin_that_is_not_listed_is_refused(serve, origin):
    async with serve(allowed_origins=[PAGE]) as served:
        for method, path in EVERYTHING:
            headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            response = await served.web.request(method, path, headers=headers)
            assert response.status_code == 403, (method, path)
            assert "Access-Control-Allow-Origin" not in response.headers


async def test_a_listed_page_may_ask_read_and_send(serve, auth):
    async with serve(options=auth, allowed_origins=[PAGE]) as served:
        asked = await served.web.options(
            "/rpc",
            headers={
                "Origin": PAGE,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,ferrule-connection",
                "Access-Control-Request-Private-Network": "true",
            },
        )
        assert asked.status_code == 204
        assert asked.headers["Access-Control-Allow-Origin"] == PAGE
        assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
        assert "Last-Event-ID" in asked.headers["Access-Control-Allow-Headers"]
        assert asked.headers["Access-Control-Allow-Private-Network"] == "true"
        assert "Access-Control-Allow-Credentials" not in asked.headers

        headers = {"Origin": PAGE, "Authorization": f"Bearer {TOKEN}"}
        response = await served.web.post("/connection", headers=headers)
        assert response.headers["Access-Control-Allow-Origin"] == PAGE
        assert response.headers["Vary"] == "Origin"
        assert "Ferrule-Connection" in response.headers["Access-Control-Expose-Headers"]
        assert await served.echoes(**headers)


async def test_a_page_that_only_asked_is_not_in(serve, auth):
    async with serve(options=auth, allowed_origins=[PAGE]) as served:
        plain = await served.web.options("/rpc", headers={"Origin": PAGE})
        host = await served.web.options(
            "/rpc",
            headers={
                "Origin": PAGE,
                "Access-Control-Request-Method": "GET",
                "Host": "evil.example",
            },
        )

    assert plain.status_code == host.status_code == 401


async def test_nothing_is_kept_or_guessed_by_a_browser(serve):
    async with serve() as served:
        response = await served.web.post("/connection")

    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in response.headers
    assert "Server" not in response.headers


async def test_what_others_can_reach_is_refused_without_authentication(serve):
    with pytest.raises(ExceptionGroup) as group:
        async with serve("http://0.0.0.0:0"):
            pytest.fail("it listens")

    (error,) = group.value.exceptions
    assert isinstance(error, FerruleError)
    assert "--ws-auth" in str(error)


async def test_a_message_above_the_limit_is_refused_whether_it_says_so_or_not(serve):
    async def in_chunks():
        for _ in range(20):
            yield b"x" * 100

    async with serve(max_message_bytes=1000) as served:
        client = await served.open()
        announced = await served.send(client, b"x" * 1001)
        chunked = await served.web.post("/rpc", content=in_chunks(), headers=client)

        assert announced.status_code == chunked.status_code == 413
        assert "1000 bytes" in announced.text
        assert served.server.received == 0
        assert await served.echoes()


async def test_a_message_that_does_not_come_is_waited_for_in_vain(serve):
    async with serve(handshake_timeout_s=1) as served:
        client = await served.open()
        secret = client["Ferrule-Connection"]
        head = f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nFerrule-Connection: {secret}\r\n"
        answer = await said_to(served, f"{head}Content-Length: 100\r\n\r\n{{".encode())

    assert answer.startswith(b"HTTP/1.1 408 ")


async def said_to(served, *pieces):
    """Say something piece by piece, each after an answer; returns all that is answered."""
    answer = b""
    async with await anyio.connect_tcp("127.0.0.1", served.port) as stream:
        for piece in pieces[:-1]:
            await stream.send(piece)
            answer += await stream.receive()
        with anyio.fail_after(120):
            try:
                await stream.send(pieces[-1])
                while True:
                    answer += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return answer


async def test_messages_that_come_too_often_are_told_to_wait(serve):
    async with serve(requests_per_second=1) as served:
        client = await served.open()
        taken = 0
        while (response := await served.send(client, {})).status_code == 202:
            taken += 1

        assert taken >= 2
        assert response.status_code == 429
        assert response.headers["Retry-After"] == "1"
        assert await served.echoes()


async def test_connections_that_come_too_often_are_told_to_wait(serve):
    async with serve(connections_per_second=1) as served:
        taken = 0
        while (response := await served.web.post("/connection")).status_code == 201:
            taken += 1

    assert taken >= 2
    assert response.status_code == 429


async def test_more_connections_than_allowed_are_refused_until_one_is_closed(serve):
    async with serve(max_connections=1) as served:
        client = await served.open()
        refused = await served.web.post("/connection")
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "5"
        await served.web.delete("/connection", headers=client)
        await served.server.until_nobody_is_left()
        with anyio.fail_after(120):
            while (await served.web.post("/connection")).status_code != 201:
                await anyio.sleep(0.01)


async def test_a_client_the_server_will_not_take_is_told_why(serve):
    async with serve(server=EchoServer(most=0)) as served:
        response = await served.web.post("/connection")

    assert response.status_code == 503
    assert response.text == "this server has all the clients it can bear\n"


async def test_messages_that_the_server_does_not_take_do_not_pile_up(serve):
    flood = {"method": "flood", "params": {"count": 1000, "size": 10_000}}
    async with serve(replay_bytes=1000) as served:
        client = await served.open()
        await served.send(client, flood)
        codes = []

        async def post():
            codes.append((await served.send(client, {"method": "x"})).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(post)
            with anyio.fail_after(120):
                while len(codes) < 8:
                    await anyio.sleep(0.01)
            assert set(codes) == {429}
            async with served.events(client) as events:
                for _ in range(1000):
                    await anext(events)
        assert codes.count(202) == 32


@pytest.mark.parametrize(
    "said",
    [
        [b""],
        [b"GET /readyz HT"],
        [b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET"],
    ],
    ids=["nothing", "half a request", "half of the second"],
)
async def test_one_who_does_not_end_a_request_is_hung_up_on(serve, said):
    async with serve(handshake_timeout_s=1) as served:
        answer = await said_to(served, *said)

    assert answer.count(b"HTTP/1.1") == len(said) - 1


async def until_closed(stream):
    try:
        while True:
            await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return


async def test_sockets_are_bounded(serve):
    async with serve(max_connections=1) as served, AsyncExitStack() as silent:
        for _ in range(69):
            last = await anyio.connect_tcp("127.0.0.1", served.port)
            await silent.enter_async_context(last)
        with anyio.fail_after(120):
            await until_closed(last)


async def test_refusals_are_sentences(serve):
    async with serve() as served:
        response = await served.web.get("/events")

    assert response.headers["Content-Type"].startswith("text/plain")
    assert response.text.endswith(".\n")
    with pytest.raises(json.JSONDecodeError):
        response.json()
