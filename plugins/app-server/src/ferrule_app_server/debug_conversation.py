"""One turn with an app-server of this process, every message printed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import anyio

from ferrule_app_server.arguments import parse
from ferrule_app_server.serve import request_of
from ferrule_hookspecs.command_line import UsageError
from ferrule_hookspecs.serving import Peer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.host import ConfigRequest, Host, Kernel
    from ferrule_hookspecs.serving import Connection

_DECLINED: Final = {"decision": "decline", "action": "decline", "answers": {}, "permissions": {}}


def converse(options: Sequence[str], text: str, host: Host) -> int:
    """Send a text in a turn of a new thread; returns 0 where the turn is completed."""
    try:
        request = request_of(parse(options)[0])
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2

    async def main(kernel: Kernel) -> int:
        return await _converse(kernel, request, text)

    return host.run(main)


async def _converse(kernel: Kernel, request: ConfigRequest, text: str) -> int:
    driver = kernel.server(kernel.config(request), "app-server")
    async with driver.open(kernel, request) as server:
        talk = _Talk(server.connect(Peer("debug")))
        try:
            return await talk.run(text)
        finally:
            with anyio.CancelScope(shield=True):
                await talk.connection.aclose()


class _Talk:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._thread_id = ""

    async def run(self, text: str) -> int:
        info = {"name": "ferrule-debug", "version": "0"}
        capabilities = {"experimentalApi": True, "extensions": {"ferrule": {}}}
        await self._ask(0, "initialize", {"clientInfo": info, "capabilities": capabilities})
        async for message in self.connection.messages():
            sys.stdout.write(f"< {message.decode()}\n")
            code = await self._go_on(json.loads(message), text)
            if code is not None:
                return code
        return 1

    async def _go_on(self, message: Mapping[str, Any], text: str) -> int | None:
        """Do what follows a message; returns the exit code at the end."""
        if "error" in message:
            return 1
        if "method" in message and "id" in message:
            await self._send({"id": message["id"], "result": _DECLINED})
        elif message.get("id") == 0:
            await self._send({"method": "initialized"})
            await self._ask(1, "thread/start", {})
        elif message.get("id") == 1:
            self._thread_id = message["result"]["thread"]["id"]
            content = [{"type": "text", "text": text}]
            await self._ask(2, "turn/start", {"threadId": self._thread_id, "input": content})
        elif message.get("method") == "turn/completed":
            return 0 if message["params"]["turn"]["status"] == "completed" else 1
        return None

    async def _ask(self, number: int, method: str, params: Mapping[str, object]) -> None:
        await self._send({"id": number, "method": method, "params": params})

    async def _send(self, message: Mapping[str, object]) -> None:
        text = json.dumps(message, ensure_ascii=False)
        sys.stdout.write(f"> {text}\n")
        await self.connection.receive(text.encode())
