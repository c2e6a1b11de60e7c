"""Ten thousand requests that are not what they should be: nothing crashes and nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random

import anyio
import pytest

pytestmark = pytest.mark.anyio
COUNT = 10_000
LIMIT = 5_000
ECHO = b'{"id":1,"method":"echo","params":{}}'


def noise(chance, most=200):
    return chance.randbytes(chance.randrange(most))


def bodies(chance):
    return chance.choice(
        [
            b"",
            ECHO,
            ECHO[: chance.randrange(len(ECHO))],
            ECHO + b"\n" + ECHO,
            noise(chance),
            b"null",
            b"[" * chance.randrange(1, 2000),
            b'{"id":' * 300,
            json.dumps({"id": chance.choice([None, 1.5, [], {}, "x" * 99]), "method": 7}).encode(),
            "\u2028\x00\U0010ffff".encode(),
            b"x" * (LIMIT + 1),
        ]
    )


def request(chance, secret):
    """A request that is whole, with anything in it."""
    method = chance.choice([b"POST"] * 5 + [b"GET", b"DELETE", b"PUT", b"OPTIONS", b"HEAD", b"X"])
    path = chance.choice([b"/rpc"] * 6 + [b"/connection", b"/", b"/%ff", b"/readyz?x=%00"])
    if (method, path) == (b"DELETE", b"/connection"):
        path = b"/rpc"  # the one client of this test stays
    body = bodies(chance)
    lines = [
        b"%b %b HTTP/1.1" % (method, path),
        b"Host: " + chance.choice([b"localhost"] * 9 + [b"evil.example"]),
        b"Ferrule-Connection: " + chance.choice([secret] * 5 + [b"x", b"\xff" * 40, b""]),
        b"Content-Length: %d" % len(body),
    ]
    if chance.random() < 0.1:
        lines.append(b"Origin: http://evil.example")
    if chance.random() < 0.1:
        lines.append(b"Last-Event-ID: " + chance.choice([b"-1", b"9" * 400, b"\xc2\xbd", b"1e3"]))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def broken(chance, secret):
    """What is no request, or ends in the middle."""
    whole = request(chance, secret)
    head = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nFerrule-Connection: " + secret + b"\r\n"
    return chance.choice(
        [
            noise(chance, 5000),
            b"\x16\x03\x01\x02\x00" + noise(chance),
            whole[: chance.randrange(1, len(whole))],
            head + b"Content-Length: 99999999999999999999\r\n\r\n",
            head + b"Content-Length: -5\r\n\r\n",
            head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * (LIMIT + 1),
            head + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
            head + b"X: y\r\n" * 5000 + b"\r\n",
            head + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + noise(chance),
            b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET /readyz HTTP/1.1\r\n\r\n",
        ]
    )


async def say(writer, data):
    """Send; the other end may hang up at any time."""
    try:
        writer.write(data)
        await writer.drain()
    except OSError:
        return False
    return True


async def answered(reader):
    """Read one answer as far as it comes; tell whether the socket stays open."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or b"0"))
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        return False
    return b"connection: close" not in head


@contextlib.asynccontextmanager
async def opened(served, chance):
    """A bare socket; its end is rude now and then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        yield reader, writer
    finally:
        if chance.random() < 0.5:
            writer.transport.abort()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def one_socket(served, chance, secret, budget):
    """Ask for nonsense until something ends it; returns how much was asked for."""
    async with opened(served, chance) as (reader, writer):
        return await nonsense(reader, writer, chance, secret, budget)


async def nonsense(reader, writer, chance, secret, budget):
    said = 0
    is_open = True
    while is_open and said < budget and chance.random() < 0.9:
        asked = request(chance, secret)
        said += 1
        if asked.startswith(b"HEAD"):
            continue  # its answer has a length and no body
        is_open = await say(writer, asked) and await answered(reader)
    if is_open:
        said += 1
        await say(writer, broken(chance, secret))
        if chance.random() < 0.3:
            writer.write_eof()
            with anyio.move_on_after(0.2):
                await answered(reader)
    return said


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.timeout(600)
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
async def test_nonsense_harms_nothing_and_leaves_nothing(serve, caplog):
    chance = random.Random(20_250_101)
    usual = {
        "max_message_bytes": LIMIT,
        "handshake_timeout_s": 5,
        "idle_timeout_s": 5,
        "connections_per_second": 1_000_000,
        "requests_per_second": 1_000_000,
    }
    async with serve(**usual) as served:
        client = await served.open()
        secret = client["Ferrule-Connection"].encode()
        assert await served.echoes()
        files, tasks = open_files(), len(asyncio.all_tasks())
        said = 0
        async with anyio.create_task_group() as group:
            group.start_soon(read_all, served, client)
            while said < COUNT:
                said += await one_socket(served, chance, secret, COUNT - said)
            group.cancel_scope.cancel()

        assert await served.echoes()
        with anyio.fail_after(120):
            while open_files() > files + 1 or len(asyncio.all_tasks()) > tasks:
                await anyio.sleep(0.02)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def read_all(served, client):
    """Take whatever is answered, so that nothing waits for it."""
    async with served.events(client) as events:
        async for _ in events:
            pass


async def test_readers_that_drop_leave_nothing(serve):
    async with serve() as served:
        client = await served.open()
        secret = client["Ferrule-Connection"]
        tasks = len(asyncio.all_tasks())
        for _ in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            head = (
                f"GET /events HTTP/1.1\r\nHost: localhost\r\nFerrule-Connection: {secret}\r\n\r\n"
            )
            try:
                await say(writer, head.encode())
            finally:
                writer.transport.abort()
                writer.close()
        with anyio.fail_after(120):
            while len(asyncio.all_tasks()) > tasks:
                await anyio.sleep(0.01)
        await served.echo(client, "still here")
        async with served.events(client) as events:
            assert (await anext(events)).data["result"] == "still here"
