"""What the app-server benchmarks share: a bare client over stdio or a WebSocket, and its server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FERRULE = Path(sys.executable).with_name("ferrule")
CONFIG = """model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "workspace-write"
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false
[analytics]
enabled = false
"""
CLIENT = {"name": "benchmark", "version": "1"}


@contextmanager
def stream_model(pieces: int, pause: float) -> Iterator[int]:
    """Run the scripted model; yields its port."""
    script = Path(__file__).with_name("stream_model.py")
    argv = [sys.executable, script, "--pieces", str(pieces), "--pause", str(pause)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as model:
        try:
            yield int(model.stdout.readline())
        finally:
            model.terminate()


@contextmanager
def places(port: int) -> Iterator[tuple[Path, dict[str, str]]]:
    """A workspace and the environment of a server; Codex wants its home outside of /tmp."""
    base = Path(tempfile.mkdtemp(prefix="app-server-", dir="/var/tmp"))
    try:
        (base / "home").mkdir()
        (base / "workspace").mkdir()
        (base / "home" / "config.toml").write_text(CONFIG.format(port=port))
        home = str(base / "home")
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        own = {"CODEX_HOME": home, "FERRULE_HOME": home, "HOME": home, "MOCK_KEY": "x"}
        yield base / "workspace", {**kept, **own, "RUST_LOG": "error"}
    finally:
        shutil.rmtree(base, ignore_errors=True)


class Client:
    """Sends requests and hands notifications to listeners."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[dict], None]] = []
        self._replies: dict[int, asyncio.Future] = {}
        self._next = 0

    async def request(self, method: str, params: dict) -> dict:
        return await self.begin(method, params)

    def begin(self, method: str, params: dict) -> asyncio.Future:
        self._next += 1
        future = self._replies[self._next] = asyncio.get_running_loop().create_future()
        self.send({"id": self._next, "method": method, "params": params})
        return future

    def send(self, message: dict) -> None:
        raise NotImplementedError

    def take(self, text: str | bytes) -> None:
        message = json.loads(text)
        if "method" in message:
            for listener in self.listeners:
                listener(message)
            return
        future = self._replies.pop(message["id"], None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(RuntimeError(message["error"]["message"]))
        else:
            future.set_result(message["result"])

    async def initialize(self) -> None:
        capabilities = {"experimentalApi": True}
        await self.request("initialize", {"clientInfo": CLIENT, "capabilities": capabilities})
        self.send({"method": "initialized"})


class StdioClient(Client):
    """A client that starts its server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, argv: list[str], cwd: Path, environ: dict[str, str]) -> StdioClient:
        pipe = asyncio.subprocess.PIPE
        quiet = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=environ, stdin=pipe, stdout=pipe, stderr=quiet, limit=2**26
        )
        client = cls(process)
        await client.initialize()
        return client

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        while line := await self.process.stdout.readline():
            self.take(line)

    async def stop(self) -> None:
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 10)
        except TimeoutError:
            self.process.kill()
        await self._reader


class SocketClient(Client):
    """A client of a running server, over a WebSocket."""

    def __init__(self, socket: object) -> None:
        super().__init__()
        self.socket = socket
        self._out: asyncio.Queue[str] = asyncio.Queue()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]

    @classmethod
    async def connect(cls, url: str) -> SocketClient:
        from websockets.asyncio.client import connect

        deadline = time.monotonic() + 20
        while True:
            try:
                socket = await connect(url, compression=None, max_size=None)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.02)
        client = cls(socket)
        await client.initialize()
        return client

    def send(self, message: dict) -> None:
        self._out.put_nowait(json.dumps(message))

    async def _write(self) -> None:
        while True:
            await self.socket.send(await self._out.get())

    async def _read(self) -> None:
        async for text in self.socket:
            self.take(text)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self.socket.close()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
