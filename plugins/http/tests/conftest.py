"""The transport, serving a server which knows no protocol of ours, and a client of it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.serving import Endpoint
from ferrule_http.transport import HttpTransport
from ferrule_testkit.echo_server import EchoServer

TOKEN = "c0ffee" * 8


class Event:
    """One event of a stream."""

    def __init__(self, block):
        fields = [line.partition(": ")[::2] for line in block.split("\n")]
        data = [value for name, value in fields if name == "data"]
        named = dict(fields)
        self.kind = named.get("event", "message")
        self.id = int(named["id"]) if "id" in named else None
        self.data = json.loads("\n".join(data)) if data else None
        self.is_comment = block.startswith(":")


class Served:
    """The transport, and ways to reach it."""

    def __init__(self, url, server, web):
        self.url = url
        self.server = server
        self.web = web

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    async def open(self, **headers):
        response = await self.web.post("/connection", headers=headers)
        response.raise_for_status()
        return {"Ferrule-Connection": response.json()["connection"], **headers}

    async def send(self, client, message, **headers):
        body = message if isinstance(message, bytes) else json.dumps(message)
        return await self.web.post("/rpc", content=body, headers={**client, **headers})

    async def echo(self, client, params, id_=1):
        response = await self.send(client, {"id": id_, "method": "echo", "params": params})
        assert response.status_code == 202, response.text

    @asynccontextmanager
    async def events(self, client, seen=None):
        """Open a stream; gives an iterator over its events."""
        headers = {**client, **({} if seen is None else {"Last-Event-ID": str(seen)})}
        async with self.web.stream("GET", "/events", headers=headers) as response:
            response.raise_for_status()
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield self._parsed(response)

    async def _parsed(self, response):
        text = ""
        async for chunk in response.aiter_text():
            *blocks, text = (text + chunk).split("\n\n")
            for event in map(Event, blocks):
                if event.is_comment or event.data is not None:
                    yield event

    async def echoes(self, **headers):
        """Tell whether a new client is served."""
        client = await self.open(**headers)
        await self.echo(client, "here")
        async with self.events(client) as events:
            answer = await anext(events)
        await self.web.delete("/connection", headers=client)
        return answer.data == {"id": 1, "result": "here"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def token_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    return file


@pytest.fixture
def serve(tmp_path):
    @asynccontextmanager
    async def run(url="http://127.0.0.1:0", options=None, server=None, **settings):
        server = server or EchoServer()
        transport = HttpTransport(PluginContext(home=tmp_path, config={}, settings=settings))
        ready, urls = anyio.Event(), []

        def tell(real):
            urls.append(real)
            ready.set()

        async with anyio.create_task_group() as group:
            group.start_soon(transport.serve, server, Endpoint(url, options or {}), tell)
            with anyio.fail_after(120):
                await ready.wait()
            port = urls[0].rsplit(":", 1)[1]
            base = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=120) as web:
                yield Served(urls[0], server, web)
            group.cancel_scope.cancel()

    return run
