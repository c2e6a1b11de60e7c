"""A server in this process, with any number of clients, and the command as a process."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import Peer
from ferrule_testkit.home import FerruleHome
from ferrule_testkit.protocol_frames import FrameChecker

PATIENCE_S = 120


class Refused(Exception):
    """A request was answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


class Client:
    """A client of the server in this process; every frame is checked against the schema."""

    def __init__(self, connection: Any, *, is_checked: bool = True) -> None:
        self.connection = connection
        self._is_checked = is_checked
        self.frames: list[dict[str, Any]] = []
        self.answers: dict[str, object] = {}
        self.is_reading = True
        self._checker = FrameChecker()
        self.next_id = 0
        self._news = anyio.Event()
        self._go_on = anyio.Event()

    async def read(self) -> None:
        async for text in self.connection.messages():
            frame = json.loads(text)
            if self._is_checked:
                self._checker.received(frame)
            self.frames.append(frame)
            self._news.set()
            self._news = anyio.Event()
            if "id" in frame and frame.get("method") in self.answers:
                await self.send({"id": frame["id"], "result": self.answers[frame["method"]]})
            while not self.is_reading:
                await self._go_on.wait()

    def read_on(self) -> None:
        self.is_reading = True
        self._go_on.set()

    async def send(self, message: Mapping[str, object] | str) -> None:
        if not isinstance(message, str):
            self._checker.sent(message)
        text = message if isinstance(message, str) else json.dumps(message)
        await self.connection.receive(text.encode())

    async def until(self, found: Callable[[dict[str, Any]], bool], after: int = 0) -> dict:
        """Wait for a frame."""
        at = after
        with anyio.fail_after(PATIENCE_S):
            while True:
                for frame in self.frames[at:]:
                    at += 1
                    if found(frame):
                        return frame
                await self._news.wait()

    async def ask(self, method: str, params: object = None) -> int:
        """Send a request without waiting for its reply; returns its id."""
        self.next_id += 1
        message = {"id": self.next_id, "method": method}
        await self.send(message if params is None else {**message, "params": params})
        return self.next_id

    async def reply(self, number: int) -> Any:
        frame = await self.until(lambda each: each.get("id") == number and "method" not in each)
        if "error" in frame:
            raise Refused(frame["error"])
        return frame["result"]

    async def call(self, method: str, params: object = None) -> Any:
        return await self.reply(await self.ask(method, params))

    async def error(self, method: str, params: object = None) -> dict[str, Any]:
        """Send a request that is refused."""
        with pytest.raises(Refused) as refused:
            await self.call(method, params)
        error = refused.value
        return {"code": error.code, "message": error.message, "data": error.data}

    async def told(
        self, method: str, where: Callable[[Any], bool] = lambda params: True, after: int = 0
    ) -> Any:
        """Wait for a notification or question; returns its parameters."""
        frame = await self.until(
            lambda each: each.get("method") == method and where(each["params"]), after
        )
        return frame["params"]

    async def initialize(self, **capabilities: object) -> Any:
        info = {"name": "tester", "version": "1.0"}
        return await self.call("initialize", {"clientInfo": info, "capabilities": capabilities})

    async def thread(self, **params: object) -> str:
        return (await self.call("thread/start", params))["thread"]["id"]

    async def turn(self, thread_id: str, text: str = "go", **more: Any) -> str:
        content = [{"type": "text", "text": text}]
        reply = await self.call("turn/start", {"threadId": thread_id, "input": content, **more})
        return reply["turn"]["id"]

    async def whole_turn(self, thread_id: str, text: str = "go") -> Any:
        turn_id = await self.turn(thread_id, text)
        done = await self.told("turn/completed", lambda p: p["turn"]["id"] == turn_id)
        return done["turn"]

    def methods(self, thread_id: str | None = None) -> list[str]:
        """What was told, in order, of one thread if it is given."""
        return [
            frame["method"]
            for frame in self.frames
            if "method" in frame
            and (thread_id is None or frame["params"].get("threadId") == thread_id)
        ]


class Hub:
    """The server under test."""

    def __init__(self, server: Any, group: Any) -> None:
        self.server = server
        self._group = group
        self.clients: list[Client] = []

    def connect(self, *, is_checked: bool = True) -> Client:
        client = Client(self.server.connect(Peer("test")), is_checked=is_checked)
        self.clients.append(client)
        self._group.start_soon(client.read)
        return client

    async def client(self, *, experimental: bool = True, **capabilities: object) -> Client:
        client = self.connect()
        await client.initialize(experimentalApi=experimental, **capabilities)
        return client

    async def disconnect(self, client: Client) -> None:
        self.clients.remove(client)
        await client.connection.aclose()


@pytest.fixture
def serve(ferrule_home: FerruleHome) -> Callable[[Callable[[Hub], Awaitable[None]]], None]:
    """Run a conversation with a server in this process."""

    def run(conversation: Callable[[Hub], Awaitable[None]]) -> None:
        host = LocalHost(ferrule_home.path, ferrule_home.environ)

        async def main(kernel: Any) -> None:
            async with hub_of(kernel, str(ferrule_home.workspace)) as hub:
                await conversation(hub)

        host.run(main)

    return run


@asynccontextmanager
async def hub_of(kernel: Any, cwd: str) -> AsyncIterator[Hub]:
    request = ConfigRequest(cwd=cwd)
    driver = kernel.server(kernel.config(request), "app-server")
    async with driver.open(kernel, request) as server, anyio.create_task_group() as group:
        hub = Hub(server, group)
        yield hub
        for client in list(hub.clients):
            await hub.disconnect(client)
        group.cancel_scope.cancel()


class Process:
    """`ferrule app-server` as a process of its own, spoken to over stdin and stdout."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: queue.Queue[bytes] = queue.Queue()
        self._checker = FrameChecker()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self._checker.sent(message)
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def frame(self) -> dict[str, Any] | None:
        """The next frame; None at the end."""
        line = self.lines.get(timeout=PATIENCE_S)
        if not line:
            return None
        frame = json.loads(line)
        self._checker.received(frame)
        return frame

    def until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while (frame := self.frame()) is not None:
            if found(frame):
                return frame
        raise AssertionError("the server ended")

    def call(self, number: int, method: str, params: object) -> Any:
        self.send({"id": number, "method": method, "params": params})
        return self.until(lambda frame: frame.get("id") == number)["result"]

    def initialize(self) -> Any:
        return self.call(0, "initialize", {"clientInfo": {"name": "tester", "version": "1"}})


@pytest.fixture
def app_server(ferrule_home: FerruleHome) -> Callable[..., Any]:
    """Start the command; a context manager of a `Process`."""

    @contextmanager
    def start(*arguments: str, before: tuple[str, ...] = ()) -> Iterator[Process]:
        command = ferrule_home.command([*before, "app-server", *arguments])
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ferrule_home.workspace,
            env=ferrule_home.environ,
        )
        try:
            yield Process(process)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()

    return start


@pytest.fixture
def rollouts(ferrule_home: FerruleHome) -> Callable[[], list[Path]]:
    """The stored threads' files."""
    return lambda: sorted(ferrule_home.path.glob("sessions/**/*.jsonl"))
