"""A transport that serves a server which knows no protocol of ours."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import anyio
import pytest
from websockets.asyncio.client import connect, unix_connect

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.serving import Endpoint
from ferrule_testkit.echo_server import EchoServer
from ferrule_websocket.transports import UnixTransport, WebSocketTransport

TOKEN = "c0ffee" * 8


class Served:
    """A transport that serves, and ways to reach it."""

    def __init__(self, url, server, folder):
        self.url = url
        self.server = server
        self.folder = folder

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    @property
    def path(self):
        return self.url.removeprefix("unix://")

    def client(self, token=None, **options):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= options.pop("headers", {})
        options = {"additional_headers": headers, "proxy": None, "max_size": None, **options}
        if self.url.startswith("unix"):
            del options["proxy"]
            return unix_connect(self.path, **options)
        return connect(self.url, **options)

    async def stream(self):
        """A bare socket."""
        if self.url.startswith("unix"):
            return await anyio.connect_unix(self.path)
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def http(self, head):
        """Send a request as it is; returns all that is answered before the end."""
        async with await self.stream() as stream:
            await stream.send(head if isinstance(head, bytes) else head.encode())
            answer = b""
            with anyio.fail_after(120):
                try:
                    async for chunk in stream:
                        answer += chunk
                except anyio.BrokenResourceError:
                    pass
        return answer

    async def echoes(self, token=None):
        """Tell whether a new client is served."""
        async with self.client(token) as link:
            await link.send('{"id":1,"method":"echo","params":{"still":"here"}}')
            return json.loads(await link.recv()) == {"id": 1, "result": {"still": "here"}}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=["websocket", "unix"])
def kind(request):
    return request.param


@pytest.fixture
def token_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    return file


@pytest.fixture
def serve(tmp_path):
    @asynccontextmanager
    async def run(kind="websocket", url=None, options=None, server=None, **settings):
        server = server or EchoServer()
        made = {"websocket": WebSocketTransport, "unix": UnixTransport}[kind]
        transport = made(PluginContext(home=tmp_path, config={}, settings=settings))
        usual = "ws://127.0.0.1:0" if kind == "websocket" else f"unix://{tmp_path}/run/s.sock"
        ready, urls = anyio.Event(), []

        def tell(real):
            urls.append(real)
            ready.set()

        async with anyio.create_task_group() as group:
            group.start_soon(transport.serve, server, Endpoint(url or usual, options or {}), tell)
            with anyio.fail_after(120):
                await ready.wait()
            yield Served(urls[0], server, tmp_path)
            group.cancel_scope.cancel()

    return run
