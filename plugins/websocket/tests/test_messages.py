"""One text frame is one message, both ways; the transport knows nothing of what it says."""

from __future__ import annotations

import json

import anyio
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from ferrule_hookspecs.serving import Peer
from ferrule_testkit.echo_server import EchoServer

pytestmark = pytest.mark.anyio


def echo(params, id_=1):
    return json.dumps({"id": id_, "method": "echo", "params": params})


async def test_a_message_is_answered(serve, kind):
    async with serve(kind) as served, served.client() as link:
        await link.send(echo({"text": "Grüße 🦀"}))

        assert json.loads(await link.recv()) == {"id": 1, "result": {"text": "Grüße 🦀"}}


async def test_answers_are_text_frames(serve, kind):
    async with serve(kind) as served, served.client() as link:
        await link.send(echo({}))

        assert isinstance(await link.recv(), str)


async def test_a_message_in_fragments_is_one_message(serve, kind):
    async with serve(kind) as served, served.client() as link:
        text = echo({"long": "é" * 1000})
        await link.send(text[i : i + 7] for i in range(0, len(text), 7))

        assert json.loads(await link.recv())["result"] == {"long": "é" * 1000}


@pytest.mark.parametrize(
    "frame",
    [echo(1).encode(), b"\x00\xff", "", "not json", "[1,2]", echo(1) + "\n" + echo(2), "null"],
    ids=["binary request", "binary", "empty", "no json", "a list", "two objects", "null"],
)
async def test_a_frame_that_is_no_request_gets_no_answer_and_harms_nothing(serve, kind, frame):
    async with serve(kind) as served, served.client() as link:
        await link.send(frame)
        await link.send(echo("after"))

        assert json.loads(await link.recv()) == {"id": 1, "result": "after"}


async def test_clients_do_not_hear_each_other(serve, kind):
    async with serve(kind) as served, served.client() as one, served.client() as other:
        await one.send(echo("one"))
        await other.send(echo("other"))

        assert json.loads(await other.recv())["result"] == "other"
        assert json.loads(await one.recv())["result"] == "one"


async def test_the_server_is_told_who_comes_and_that_they_left(serve, kind):
    async with serve(kind) as served:
        async with served.client() as link:
            await link.send(echo(1))
            await link.recv()
            (client,) = served.server.clients
            if kind == "unix":
                assert client.peer == Peer("unix", "")
            else:
                host, port = link.local_address
                assert client.peer == Peer("websocket", f"{host}:{port}")
        with anyio.fail_after(120):
            await served.server.until_nobody_is_left()


async def test_a_client_the_server_will_not_take_is_told_why(serve, kind):
    async with serve(kind, server=EchoServer(most=0)) as served, served.client() as link:
        with pytest.raises(ConnectionClosed) as closed:
            await link.recv()

    assert closed.value.rcvd.code == 1013
    assert closed.value.rcvd.reason == "this server has all the clients it can bear"


async def test_a_server_that_ends_a_connection_closes_it(serve, kind):
    async with serve(kind) as served, served.client() as link:
        await link.send('{"method":"close"}')
        with pytest.raises(ConnectionClosed) as closed:
            await link.recv()

    assert closed.value.rcvd.code == 1000


async def test_a_fault_of_the_server_ends_one_client_and_no_other(serve, kind):
    async with serve(kind) as served, served.client() as other:
        async with served.client() as link:
            await link.send('{"method":"fail"}')
            with pytest.raises(ConnectionClosed) as closed:
                await link.recv()
        await other.send(echo("lives"))

        assert json.loads(await other.recv())["result"] == "lives"
    assert closed.value.rcvd.code == 1011


async def test_cancelling_tells_clients_that_the_server_goes_away(serve, kind):
    async with serve(kind) as served:
        link = await served.client()
        await link.send(echo(1))
        await link.recv()
    with pytest.raises(ConnectionClosed) as closed:
        await link.recv()

    assert closed.value.rcvd.code == 1001
    assert not served.server.clients


async def test_nothing_is_compressed_whatever_a_client_offers(serve, kind):
    offers = {"x-codex-app-server-compression": "zstd-stream-v1"}
    async with (
        serve(kind) as served,
        served.client(compression="deflate", headers=offers) as link,
    ):
        assert "Sec-WebSocket-Extensions" not in link.response.headers
        assert "x-codex-app-server-compression" not in link.response.headers
        await link.send(echo("plain"))

        assert json.loads(await link.recv())["result"] == "plain"


async def test_a_message_above_the_limit_is_refused_before_it_is_read(serve, kind):
    async with serve(kind, max_message_bytes=1000) as served:
        async with served.client() as link:
            frame = Frame(Opcode.TEXT, b"x" * 1001).serialize(mask=True)
            link.transport.write(frame[:20])
            with pytest.raises(ConnectionClosed) as closed:
                await link.recv()

        assert closed.value.rcvd.code == 1009
        assert served.server.received == 0
        assert await served.echoes()


async def test_fragments_do_not_get_around_the_limit(serve, kind):
    async with serve(kind, max_message_bytes=1000) as served, served.client() as link:
        await link.send("x" * 300 for _ in range(4))
        with pytest.raises(ConnectionClosed) as closed:
            await link.recv()

        assert closed.value.rcvd.code == 1009


async def test_a_slow_reader_holds_the_server_back_and_loses_nothing(serve, kind):
    size, count = 10_000, 3000
    async with serve(kind) as served, served.client(max_queue=1) as link:
        params = {"count": count, "size": size}
        await link.send(json.dumps({"method": "flood", "params": params}))
        await held_back(served)
        (client,) = served.server.clients

        # The rest of the 30 MB waits in the server, not in the transport.
        assert client.produced * size < 16 * 1024 * 1024
        got = [json.loads(await link.recv())["params"]["n"] for _ in range(count)]
        assert got == list(range(count))


async def held_back(served):
    """Wait until the server has come to a stand: it has produced nothing for a while."""
    seen, unchanged = -1, 0
    with anyio.fail_after(120):
        while unchanged < 20:
            await anyio.sleep(0.01)
            now = sum(client.produced for client in served.server.clients)
            unchanged = unchanged + 1 if now == seen and now else 0
            seen = now


async def test_while_one_client_does_not_read_others_are_served(serve, kind):
    async with serve(kind) as served, served.client(max_queue=1) as slow:
        await slow.send('{"method":"flood","params":{"count":3000,"size":10000}}')
        await held_back(served)

        assert await served.echoes()
        slow.transport.abort()


async def test_pings_that_nobody_reads_the_answers_of_end_the_connection(serve):
    async with serve() as served:
        stream = await served.stream()
        async with stream:
            await stream.send(
                b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            )
            await stream.receive()
            ping = Frame(Opcode.PING, b"x" * 125).serialize(mask=True)
            with pytest.raises(anyio.BrokenResourceError), anyio.fail_after(120):
                await send_for_ever(stream, ping * 500)

        assert await served.echoes()


async def send_for_ever(stream, data):
    while True:
        await stream.send(data)
