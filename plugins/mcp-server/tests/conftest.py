"""A server in this process, with the SDK's client or with one that speaks in raw messages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import Peer
from ferrule_mcp_server.server import McpServer, serving
from ferrule_testkit.home import FerruleHome
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.model_server import ScriptedModelServer

PATIENCE_S = 120
NEWEST = "2025-11-25"
FORMS = {"elicitation": {"form": {}}}


class Wire:
    """A client that reads and writes messages as they are."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.answers: Any = None
        self._next = 0
        self._news = anyio.Event()

    async def read(self) -> None:
        async for text in self.connection.messages():
            frame = json.loads(text)
            self.frames.append(frame)
            self._news.set()
            self._news = anyio.Event()
            if frame.get("method") == "elicitation/create" and self.answers is not None:
                await self.send({"id": frame["id"], **self.answers})

    async def send(self, frame: Mapping[str, Any]) -> None:
        await self.connection.receive(json.dumps({"jsonrpc": "2.0", **frame}).encode())

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request without waiting for its answer; returns its id."""
        self._next += 1
        await self.send({"id": self._next, "method": method, "params": params or {}})
        return self._next

    async def call(self, tool: str, arguments: Mapping[str, Any], **meta: Any) -> int:
        params = {"name": tool, "arguments": arguments}
        return await self.ask("tools/call", {**params, "_meta": meta} if meta else params)

    async def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        at = 0
        with anyio.fail_after(PATIENCE_S):
            while True:
                for frame in self.frames[at:]:
                    at += 1
                    if found(frame):
                        return frame
                await self._news.wait()

    async def answer(self, number: int) -> dict[str, Any]:
        """Wait for the answer to a request."""
        return await self.until(lambda frame: frame.get("id") == number and "method" not in frame)

    async def result(self, number: int) -> dict[str, Any]:
        return (await self.answer(number))["result"]

    async def event(self, type_: str) -> dict[str, Any]:
        """Wait for a `codex/event`; returns its parameters."""
        frame = await self.until(
            lambda each: (
                each.get("method") == "codex/event" and each["params"]["msg"]["type"] == type_
            )
        )
        return frame["params"]

    def events(self, request: int | None = None) -> list[dict[str, Any]]:
        """What was told by `codex/event`, of one call if it is given."""
        told = [each["params"] for each in self.frames if each.get("method") == "codex/event"]
        return [
            each["msg"] for each in told if request in (None, each["_meta"]["requestId"])
        ]  # fmt: skip

    async def initialize(
        self, version: str = NEWEST, capabilities: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        info = {"name": "tester", "version": "1"}
        params = {"protocolVersion": version, "clientInfo": info}
        number = await self.ask("initialize", {**params, "capabilities": capabilities or {}})
        result = await self.result(number)
        await self.send({"method": "notifications/initialized"})
        return result


@dataclass
class Stage:
    """A home with a scripted model, and servers in it."""

    home: FerruleHome
    model: ScriptedModelServer
    asked: list[Any] = field(default_factory=list)

    def play(self, *turns: Any) -> None:
        """Say what the model says; a text is a message."""
        self.model.play(
            {"turns": [[message(turn)] if isinstance(turn, str) else turn for turn in turns]}
        )

    def run(self, conversation: Callable[[McpServer], Awaitable[None]]) -> None:
        """Run a conversation with a server in this process."""
        host = LocalHost(self.home.path, self.home.environ)

        async def main(kernel: Any) -> None:
            request = ConfigRequest(cwd=str(self.home.workspace))
            async with serving(kernel, request, "1.0") as server:
                await conversation(server)

        host.run(main)

    def talk(self, conversation: Callable[[Client], Awaitable[None]], **options: Any) -> None:
        """Run a conversation by the SDK's client."""

        async def with_client(server: McpServer) -> None:
            async with Client(server.protocol, **options) as client:
                await conversation(client)

        self.run(with_client)

    def say(self, action: str, **content: Any) -> Any:
        """Return a callback that answers every question so."""

        async def elicit(context: Any, params: Any) -> ElicitResult:
            self.asked.append(params)
            return ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]

        return elicit


@asynccontextmanager
async def wire_to(server: McpServer) -> AsyncIterator[Wire]:
    """Connect a client that reads."""
    wire = Wire(server.connect(Peer("test")))
    async with anyio.create_task_group() as group:
        group.start_soon(wire.read)
        yield wire
        await wire.connection.aclose()
        group.cancel_scope.cancel()


@pytest.fixture
def stage(ferrule_home: FerruleHome, model_server: ScriptedModelServer) -> Stage:
    return Stage(ferrule_home, model_server)


@pytest.fixture
def wired() -> Any:
    return wire_to


@pytest.fixture
def escalated() -> list[Any]:
    """A command that asks to run without the sandbox."""
    arguments = {
        "cmd": "echo hi > approved.txt; cat approved.txt",
        "sandbox_permissions": "require_escalated",
        "justification": "it is needed",
    }
    return [function_call("exec_command", arguments, call_id="c1")]
