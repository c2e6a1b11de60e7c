"""The transport that the documentation shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.serving import Endpoint
from ferrule_testkit.echo_server import EchoServer

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).parents[3] / "docs" / "transports.md"


@pytest.fixture
def lines_transport(tmp_path):
    names = {}
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1], names)
    return names["LinesTransport"](PluginContext(home=tmp_path, config={}))


async def test_the_documented_transport_carries_lines(lines_transport):
    server, urls, ready = EchoServer(), [], anyio.Event()

    def tell(url):
        urls.append(url)
        ready.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lines_transport.serve, server, Endpoint("lines://127.0.0.1:0"), tell)
        await ready.wait()
        port = int(urls[0].rpartition(":")[2])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b'{"id":1,"method":"echo","params":"hello"}\n{"id":')
            assert await stream.receive() == b'{"id":1,"result":"hello"}\n'
        with anyio.fail_after(120):
            await server.until_nobody_is_left()
        group.cancel_scope.cancel()
