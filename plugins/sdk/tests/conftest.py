"""The library's channels to one home, and a server that says what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ferrule_sdk import ConnectionLostError, Ferrule
from ferrule_testkit.home import FerruleHome
from ferrule_testkit.processes import survivors

CHANNELS = ["in-process", "stdio", "unix", "websocket", "http"]
ADDRESSES = {
    "unix": "unix://{folder}/f.sock",
    "websocket": "ws://127.0.0.1:0",
    "http": "http://127.0.0.1:0",
}


class Clients:
    """Makes clients of one home over one kind of channel."""

    def __init__(self, home: FerruleHome, channel: str) -> None:
        self.home = home
        self.channel = channel
        self.server: subprocess.Popen[str] | None = None
        self.url = ""

    def __call__(self, **options: Any) -> Ferrule:
        options.setdefault("cwd", self.home.workspace)
        if self.server is not None:
            return Ferrule(channel=self.url, **options)
        return Ferrule(
            channel=self.channel, home=self.home.path, environ=self.home.environ, **options
        )

    def leftovers(self) -> list[str]:
        """Processes of this home that live, other than a server that was started beforehand."""
        found = survivors(f"FERRULE_HOME={self.home.path}")
        return [
            words for pid, words in found.items() if self.server is None or pid != self.server.pid
        ]


@contextmanager
def _listening(
    home: FerruleHome, url: str, *options: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = home.command(["app-server", "--listen", url, *options])
    environ = {**home.environ, "FERRULE_HOME": str(home.path)}
    with subprocess.Popen(
        command, env=environ, cwd=home.workspace, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            said = ""
            while (found := re.search(r"listening on: (\S+)", said)) is None:
                line = server.stderr.readline()
                assert line, f"the server ended: {said}"
                said += line
            yield server, found[1]
        finally:
            server.terminate()
            server.communicate(timeout=120)


@pytest.fixture
def listening() -> Callable[..., Any]:
    """Starts `ferrule app-server` in a home: `with listening(home, url, *options) as (it, url)`."""
    return _listening


@pytest.fixture
def clients(request, ferrule_home, socket_folder) -> Iterator[Clients]:
    made = Clients(ferrule_home, request.param)
    address = ADDRESSES.get(request.param)
    if address is None:
        yield made
        return
    with _listening(ferrule_home, address.format(folder=socket_folder)) as (server, url):
        made.server, made.url = server, url
        yield made


def pytest_generate_tests(metafunc):
    """Run what uses `clients` over every channel, unless it chooses itself."""
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "clients" in metafunc.fixturenames and "clients" not in chosen:
        metafunc.parametrize("clients", CHANNELS, indirect=True)


class ScriptedServer:
    """A server in this process that answers by a table and says what a test makes it say."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "initialize": lambda _: {"userAgent": "x/1.0.0", "codexHome": "/"},
            "thread/start": lambda params: opened("t1"),
            "turn/start": lambda params: {"turn": turn("u1")},
            "turn/interrupt": lambda params: {},
        }
        self.heard = anyio.Event()

    @asynccontextmanager
    async def open(self):
        self._to_client, self._from_server = anyio.create_memory_object_stream[bytes | None](
            100_000
        )
        with self._to_client, self._from_server:
            yield self

    async def send(self, message: bytes) -> None:
        taken = json.loads(message)
        self.received.append(taken)
        self.heard.set()
        self.heard = anyio.Event()
        if "method" in taken and "id" in taken:
            answer = self.answers[taken["method"]](taken["params"])
            if answer is not None:
                key = "error" if isinstance(answer, dict) and "code" in answer else "result"
                self.say({"id": taken["id"], key: answer})

    async def receive(self) -> bytes:
        message = await self._from_server_next()
        if message is None:
            raise ConnectionLostError("the scripted server hung up")
        return message

    async def _from_server_next(self) -> bytes | None:
        return await self._from_server.receive()

    def say(self, message: object) -> None:
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._to_client.send_nowait(text)

    def tell(self, method: str, **params: Any) -> None:
        self.say({"method": method, "params": {"threadId": "t1", "turnId": "u1", **params}})

    def ask(self, id_: int, method: str, **params: Any) -> None:
        asked = {"threadId": "t1", "turnId": "u1", "itemId": "i1", **params}
        self.say({"id": id_, "method": method, "params": asked})

    def finish(self, status: str = "completed", **more: Any) -> None:
        self.tell("turn/completed", turn={**turn("u1"), "status": status, **more})

    def hang_up(self) -> None:
        self._to_client.send_nowait(None)

    async def answer_to(self, id_: int) -> dict[str, Any]:
        """Wait for the client's answer to a request."""
        while True:
            for message in self.received:
                if "method" not in message and message["id"] == id_:
                    return message
            await self.heard.wait()


def turn(id_: str) -> dict[str, Any]:
    return {"id": id_, "status": "inProgress", "items": [], "error": None}


def opened(id_: str) -> dict[str, Any]:
    thread = {"id": id_, "cwd": "/w", "turns": []}
    return {"thread": thread, "model": "m", "cwd": "/w"}


@pytest.fixture
def scripted() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def run():
    """Run an async function to its end; no task may be left then."""

    def run(main: Callable[[], Any]) -> Any:
        async def alone() -> Any:
            result = await main()
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return result

        return anyio.run(alone)

    return run


@pytest.fixture
def codex() -> Path:
    """The real Codex, where npm's `@openai/codex` is installed."""
    modules = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"))
    found = sorted(modules.glob("@openai/codex*/vendor/*/bin/codex"))
    if not found:
        pytest.skip(f"no codex in {modules} (set FERRULE_TEST_NODE_MODULES)")
    return found[0]
