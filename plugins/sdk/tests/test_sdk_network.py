"""Servers over the network: tokens, and streams that break."""

from __future__ import annotations

from contextlib import asynccontextmanager

import anyio
import pytest

from ferrule_sdk import ConnectionLostError, Ferrule
from ferrule_testkit.model_items import function_call, message


@pytest.fixture
def guarded(request, ferrule_home, tmp_path, listening):
    """The URL of a server that asks for the token `let-me-in-0123456789`."""
    (tmp_path / "token").write_text("let-me-in-0123456789\n")
    (tmp_path / "token").chmod(0o600)
    options = ["--ws-auth", "capability-token", "--ws-token-file", str(tmp_path / "token")]
    with listening(ferrule_home, f"{request.param}://127.0.0.1:0", *options) as (_, url):
        yield url


@pytest.mark.parametrize("guarded", ["ws", "http"], indirect=True)
def test_a_server_that_asks_for_a_token(guarded, run):
    async def main():
        for wrong in (None, "let-me-out-0123456789"):
            with pytest.raises(ConnectionLostError, match="the token is missing or wrong"):
                async with Ferrule(channel=guarded, token=wrong):
                    pass
        async with Ferrule(channel=guarded, token="let-me-in-0123456789") as f:
            return await f.models()

    assert run(main)


class Wire:
    """Carries TCP connections to a server, and cuts them."""

    def __init__(self, url: str) -> None:
        self.host, _, port = url.removeprefix("http://").partition(":")
        self.port = int(port)
        self.open: list[anyio.abc.SocketStream] = []
        self.connections = 0

    @asynccontextmanager
    async def carried(self):
        async with (
            await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
            anyio.create_task_group() as group,
        ):
            group.start_soon(listener.serve, self.carry)
            port = listener.extra(anyio.abc.SocketAttribute.local_port)
            yield f"http://127.0.0.1:{port}"
            group.cancel_scope.cancel()

    async def carry(self, client) -> None:
        self.connections += 1
        async with client, await anyio.connect_tcp(self.host, self.port) as server:
            self.open.append(client)
            async with anyio.create_task_group() as group:
                group.start_soon(self.copy, client, server, group.cancel_scope)
                group.start_soon(self.copy, server, client, group.cancel_scope)

    async def copy(self, source, target, scope) -> None:
        try:
            async for chunk in source:
                await target.send(chunk)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        scope.cancel()

    async def cut(self) -> None:
        for client in self.open:
            await client.aclose()
        self.open.clear()


@pytest.mark.parametrize("clients", ["http"], indirect=True)
def test_a_stream_that_breaks_is_taken_up_again(clients, model_server, run):
    text = "word " * 40
    model_server.play([{"items": [message(text)], "delta_delay": 0.05}])
    wire = Wire(clients.url)

    async def main():
        async with (
            wire.carried() as url,
            Ferrule(channel=url, cwd=clients.home.workspace) as f,
        ):
            turn = await (await f.thread(ephemeral=True)).start("Speak")
            heard: list[str] = []
            async for delta in turn.text_deltas():
                heard.append(delta)
                if len(heard) in (3, 6):
                    await wire.cut()
            return "".join(heard), (await turn.result()).text

    heard, answer = run(main)

    assert heard == answer == text
    assert wire.connections > 3


@pytest.mark.parametrize("clients", ["http"], indirect=True)
def test_a_server_that_closes_the_connection_ends_what_waits(clients, run):
    async def main():
        async with clients() as f:
            thread = await f.thread(ephemeral=True)
            clients.server.terminate()
            with pytest.raises(ConnectionLostError):
                async for _ in f.notifications():
                    pass
            with pytest.raises(ConnectionLostError):
                await thread.run("Hello")

    run(main)


ESCALATED = {"cmd": "echo ran", "sandbox_permissions": "require_escalated", "justification": "why"}


@pytest.mark.parametrize("clients", ["unix", "websocket", "http"], indirect=True)
def test_what_one_client_answers_is_withdrawn_from_the_other(clients, model_server, run):
    model_server.play([[function_call("exec_command", ESCALATED)], [message("It ran")]])

    async def main():
        is_asked, is_withdrawn = anyio.Event(), anyio.Event()

        async def hesitate(request):
            is_asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                is_withdrawn.set()

        async def accept(request):
            await is_asked.wait()
            return "accept"

        async with clients(approvals=hesitate) as one, clients(approvals=accept) as other:
            thread = await one.thread(approval_policy="on-request")
            turn = await thread.start("Run it")
            await other.resume(thread.id)
            result = await turn.result()
            await is_withdrawn.wait()
            return result.text

    assert run(main) == "It ran"
