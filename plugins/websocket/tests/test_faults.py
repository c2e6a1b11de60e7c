"""Ten thousand messages that are not what they should be: nothing crashes and nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import random
import struct

import anyio
import pytest
from websockets.frames import Frame, Opcode

pytestmark = pytest.mark.anyio
COUNT = 10_000
LIMIT = 5_000
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
ECHO = b'{"id":1,"method":"echo","params":{}}'


def frame(opcode, data, *, fin=True, mask=True):
    return Frame(opcode, data, fin).serialize(mask=mask)


MANY_FRAGMENTS = frame(Opcode.TEXT, b"x", fin=False) + frame(Opcode.CONT, b"", fin=False) * 5000


def noise(chance, most=200):
    return chance.randbytes(chance.randrange(most))


def texts(chance):
    """Messages in order as frames, of no sense to the server."""
    return chance.choice(
        [
            b"",
            b"null",
            b"[" * chance.randrange(1, 2000),
            b'{"id":' * 300,
            json.dumps({"id": chance.choice([None, 1.5, [], {}, "x" * 99]), "method": 7}).encode(),
            ECHO[: chance.randrange(len(ECHO))],
            ECHO + ECHO,
            ECHO,
            b'{"method":"echo","id":1e999}',
            "\u2028\x00\U0010ffff".encode(),
        ]
    )


def harmless(chance):
    text = texts(chance)
    cut = chance.randrange(len(text) + 1)
    return chance.choice(
        [
            frame(Opcode.TEXT, text),
            frame(Opcode.BINARY, noise(chance)),
            frame(Opcode.PING, noise(chance, 125)),
            frame(Opcode.PONG, noise(chance, 125)),
            frame(Opcode.BINARY, text[:cut], fin=False) + frame(Opcode.CONT, text[cut:]),
            frame(Opcode.BINARY, b"", fin=False)
            + frame(Opcode.PING, b"between")
            + frame(Opcode.CONT, b"", fin=False) * 3
            + frame(Opcode.CONT, b""),
        ]
    )


def fatal(chance):
    """What must end the connection, or ends in the middle."""
    whole = frame(Opcode.TEXT, ECHO)
    return chance.choice(
        [
            whole[: chance.randrange(1, len(whole))],
            noise(chance),
            frame(Opcode.TEXT, b"\xff\xfe\xc3"),
            frame(Opcode.TEXT, b"x" * (LIMIT + 1)),
            b"\x81\xff" + struct.pack("!Q", 2**62) + b"mask",
            frame(Opcode.CONT, b"of nothing"),
            frame(Opcode.TEXT, b"a", fin=False) + frame(Opcode.TEXT, b"b"),
            MANY_FRAGMENTS,
            frame(Opcode.TEXT, ECHO, mask=False),
            bytes([whole[0] | 0x40]) + whole[1:],
            b"\x8b\x80mask",
            b"\x89\xfe\x01\x00mask" + b"p" * 256,
            b"\x88\x82\0\0\0\0" + struct.pack("!H", chance.choice([0, 999, 1000, 1005, 5000])),
            b"\x88\x81\0\0\0\0\x03",
        ]
    )


def handshakes(chance):
    """What comes in place of a handshake."""
    return chance.choice(
        [
            noise(chance, 5000),
            b'{"id":1,"method":"echo"}\n',
            b"\x16\x03\x01\x02\x00" + noise(chance),
            HANDSHAKE[: chance.randrange(1, len(HANDSHAKE))],
            HANDSHAKE.replace(b"localhost", b"x" * 10_000),
            HANDSHAKE.replace(b"\r\n\r\n", b"\r\nX: y" * 500 + b"\r\n\r\n"),
            HANDSHAKE.replace(b"13", noise(chance, 10)),
            HANDSHAKE.replace(b"AAAA", b""),
            HANDSHAKE.replace(b"GET / ", b"GET /" + b"x" * 9000 + b" "),
            HANDSHAKE.replace(b"GET", b"POST"),
            HANDSHAKE.replace(b"\r\n\r\n", b"\r\nContent-Length: 9999999\r\n\r\n"),
            HANDSHAKE.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"),
            HANDSHAKE.replace(b"HTTP/1.1", b"HTTP/9.9"),
        ]
    )


async def opened(served):
    if served.url.startswith("unix"):
        return await asyncio.open_unix_connection(served.path)
    return await asyncio.open_connection("127.0.0.1", served.port)


async def say(writer, data):
    """Send; the other end may hang up at any time."""
    try:
        writer.write(data)
        await writer.drain()
    except OSError:
        return False
    return True


async def hang_up(writer, *, rudely):
    if rudely:
        writer.transport.abort()
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return


async def one_connection(served, chance, budget):
    """Say nonsense until something ends it; returns how much was said."""
    reader, writer = await opened(served)
    try:
        return await nonsense(reader, writer, chance, budget)
    finally:
        await hang_up(writer, rudely=chance.random() < 0.5)


async def nonsense(reader, writer, chance, budget):
    said = 1
    if chance.random() < 0.1:
        await say(writer, handshakes(chance))
    else:
        await say(writer, HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        for said in range(1, min(budget, chance.randrange(2, 30))):  # noqa: B007 -- told below
            await say(writer, harmless(chance))
        await say(writer, fatal(chance))
    if chance.random() < 0.3:
        if writer.can_write_eof():
            writer.write_eof()
        await reader.read()
    return said + 1


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.timeout(600)
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors are counted in /proc")
async def test_nonsense_harms_nothing_and_leaves_nothing(serve, kind, caplog):
    chance = random.Random(20_250_101)
    settings = {
        "max_message_bytes": LIMIT,
        "connections_per_second": 1_000_000,
        "handshake_timeout_s": 5,
    }
    async with serve(kind, **settings) as served:
        assert await served.echoes()
        files, tasks = open_files(), len(asyncio.all_tasks())
        said = 0
        while said < COUNT:
            said += await one_connection(served, chance, COUNT - said)

        assert await served.echoes()
        with anyio.fail_after(120):
            while open_files() > files or len(asyncio.all_tasks()) > tasks:
                await anyio.sleep(0.02)
        assert not served.server.clients
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_client_that_drops_in_the_middle_of_a_frame_is_forgotten(serve, kind):
    async with serve(kind) as served:
        reader, writer = await opened(served)
        await say(writer, HANDSHAKE)
        await reader.readuntil(b"\r\n\r\n")
        await say(writer, frame(Opcode.TEXT, ECHO)[:-5])
        await hang_up(writer, rudely=True)
        with anyio.fail_after(120):
            while served.server.clients:
                await anyio.sleep(0.01)

        assert await served.echoes()
