"""A proxy with an origin server behind it, and the raw bytes of both sides in the tests' hands."""

from __future__ import annotations

import base64
import re
from contextlib import asynccontextmanager
from ipaddress import ip_address

import anyio
import pytest
from anyio.streams.tls import TLSListener

from ferrule_network.addresses import reach_from
from ferrule_network.gate import Gate
from ferrule_network.interception import interception_of
from ferrule_network.limits import Limits
from ferrule_network.policy import Policy
from ferrule_network.proxy import Proxy
from ferrule_network.rule import parse_rule
from ferrule_network.settings import Settings


class Origin:
    """A server on loopback that records what it gets; `/` is answered, the rest as told."""

    def __init__(self):
        self.heads = []
        self.bodies = []
        self.connections = 0
        self.port = 0
        self.answers = {}

    async def serve(self, stream):
        self.connections += 1
        async with stream:
            buffer = b""
            try:
                while b"\r\n\r\n" not in buffer:
                    buffer += await stream.receive()
                head, _, rest = buffer.partition(b"\r\n\r\n")
                self.heads.append(head)
                if b"100-continue" in head:
                    await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                self.bodies.append(await self._body(stream, head, rest))
                path = head.split(b" ")[1]
                await stream.send(
                    self.answers.get(path, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin")
                )
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async def _body(self, stream, head, rest):
        found = re.search(rb"(?i)content-length: (\d+)", head)
        if found:
            while len(rest) < int(found[1]):
                rest += await stream.receive()
        elif re.search(rb"(?i)transfer-encoding: chunked", head):
            while not rest.endswith(b"0\r\n\r\n"):
                rest += await stream.receive()
        return rest


class World:
    def __init__(self, origin, names):
        self.origin = origin
        self.names = names
        self.events = []
        self.broken = False
        self.lookups = []
        self.proxy = None
        self.port = 0
        self.credential = None

    def audit(self, event):
        if self.broken:
            raise OSError("the disk is full")
        self.events.append(event)

    async def resolve(self, name, port):
        self.lookups.append(name)
        found = self.names.get(name)
        if callable(found):
            found = found()
        if not found:
            raise OSError("no such name")
        return [ip_address(one) for one in found]

    @property
    def authorization(self):
        shown = f"{self.credential.user}:{self.credential.secret}"
        return "Proxy-Authorization: Basic " + base64.b64encode(shown.encode()).decode()

    def request(self, first, *headers, body=b"", host=None):
        """Write a request with the command's credential; `{port}` is the origin's."""
        lines = [first, *([f"Host: {host}"] if host else []), self.authorization, *headers, "", ""]
        return "\r\n".join(lines).replace("{port}", str(self.origin.port)).encode("latin-1") + body

    async def open(self):
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def exchange(self, data):
        """Send bytes, end, and read to the end."""
        async with await self.open() as stream:
            await stream.send(data)
            await stream.send_eof()
            return await read_all(stream)

    async def socks(self, host, port, *, command=1, methods=b"\x02", shown=None):
        """Ask by SOCKS5 for a name, bytes or an address; returns the stream and the reply."""
        stream = await self.open()
        await stream.send(bytes([5, len(methods)]) + methods)
        if await exactly(stream, 2) != b"\x05\x02":
            return stream, b""
        user, secret = shown or (self.credential.user, self.credential.secret)
        packed = bytes([1, len(user)]) + user.encode() + bytes([len(secret)]) + secret.encode()
        await stream.send(packed)
        if await exactly(stream, 2) != b"\x01\x00":
            return stream, b""
        if isinstance(host, str):
            host = host.encode()
        where = host if host[:1] in (b"\x01", b"\x04", b"\x09") else bytes([3, len(host)]) + host
        await stream.send(bytes([5, command, 0]) + where + port.to_bytes(2))
        return stream, await exactly(stream, 10)


async def read_all(stream):
    data = b""
    with anyio.fail_after(120):
        try:
            while True:
                data += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return data


async def exactly(stream, count):
    data = b""
    with anyio.fail_after(120):
        while len(data) < count:
            data += await stream.receive(count - len(data))
    return data


@asynccontextmanager
async def open_world(
    *rules, names=None, local=("127.0.0.1",), ask=None, limits=None, tls=None, opening=None
):
    """Open a world; with `tls` its origin speaks that.

    With `opening`, a table `[network]` and an interceptor, tunnels are opened.
    """
    origin = Origin()
    world = World(origin, names or {})
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        served = listener if tls is None else TLSListener(listener, tls, standard_compatible=False)
        group.start_soon(served.serve, origin.serve)
        origin.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        parsed = tuple(
            parse_rule(rule.replace("{port}", str(origin.port)), "test") for rule in rules
        )
        table, interceptor = opening(origin.port) if opening else ({}, None)
        gate = Gate(
            Settings(Policy(parsed), reach_from(list(local)), interception_of(table)),
            world.audit,
            ask,
            world.resolve,
            limits or Limits(),
            interceptor,
        )
        async with Proxy(gate) as proxy:
            world.proxy = proxy
            world.port = await proxy.listen_tcp()
            with proxy.admit("call-1") as credential:
                world.credential = credential
                yield world
        group.cancel_scope.cancel()


@pytest.fixture
def network():
    """Opens a world: `async with network(*rules, names=..., local=...) as world`."""
    return open_world


@pytest.fixture
def to_end():
    """Reads a stream to its end."""
    return read_all


@pytest.fixture
def anyio_backend():
    return "asyncio"
