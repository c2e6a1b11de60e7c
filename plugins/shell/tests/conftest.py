"""A real session for the tools: real processes, no confinement, events kept."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ferrule.processes import OwnedProcess, ProcessOwner
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import (
    Command,
    CommandResult,
    Denial,
    FileStat,
    Launch,
    ResolvedPolicy,
)
from ferrule_hookspecs.tools import ToolCall, ToolResult
from ferrule_shell.tools import ExecCommand, WriteStdin
from ferrule_testkit import processes


class LocalFiles:
    async def stat(self, path: str) -> FileStat | None:
        if not os.path.exists(path):
            return None
        return FileStat("directory" if os.path.isdir(path) else "file", 0, 0o644)


class OpenSandbox:
    """Confines nothing; tells a denial where an output says so."""

    def __init__(self, owner: ProcessOwner, cwd: str) -> None:
        self.policy = ResolvedPolicy("danger-full-access", cwd, unconfined=True)
        self.files = LocalFiles()
        self.commands: list[Command] = []
        self._owner = owner

    async def spawn(self, command: Command) -> OwnedProcess:
        self.commands.append(command)
        return await self._owner.spawn(
            Launch(command.argv, command.env, command.cwd),
            tty=command.tty,
            open_stdin=command.open_stdin,
        )

    def classify(self, result: CommandResult) -> Denial | None:
        if b"Read-only file system" in result.output:
            return Denial("write", "the sandbox allows no writing there")
        return None


class Context:
    """Satisfies `ToolContext`."""

    def __init__(self, sandbox: OpenSandbox, cwd: str, environ: Mapping[str, str]) -> None:
        self.thread_id = "thread"
        self.turn_id = "turn"
        self.cwd = cwd
        self.sandbox = sandbox
        self.output_token_limit = 10_000
        self.events: list[dict] = []
        self._environ = dict(environ)

    def emit(self, event) -> None:
        self.events.append(event)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**self._environ, **(extra or {})}


class Shell:
    """Both tools, called as the kernel calls them."""

    def __init__(self, context: Context, plugin: PluginContext) -> None:
        self.context = context
        self.exec_tool = ExecCommand(plugin)
        self.stdin_tool = WriteStdin(plugin)
        self.thread_id = plugin.thread_id
        self._calls = 0

    async def exec(self, cmd: str, **arguments) -> ToolResult:
        arguments = {"cmd": cmd, "login": False, **arguments}
        return await self.exec_tool.run(self.call(self.exec_tool, arguments), self.context)

    async def write(self, session_id: int, chars: str = "", **arguments) -> ToolResult:
        arguments = {"session_id": session_id, "chars": chars, **arguments}
        return await self.stdin_tool.run(self.call(self.stdin_tool, arguments), self.context)

    def call(self, tool: ExecCommand | WriteStdin, arguments: dict) -> ToolCall:
        self._calls += 1
        return ToolCall(f"call_{self._calls}", tool.name, tool.normalize(arguments), "", "function")

    def told(self, method: str) -> list[dict]:
        return [event["params"] for event in self.context.events if event["method"] == method]

    async def aclose(self) -> None:
        await self.exec_tool.aclose()
        await self.stdin_tool.aclose()


@pytest.fixture
def mark() -> str:
    """What every process of the test carries in its environment."""
    return uuid.uuid4().hex


@pytest.fixture
def open_shell(tmp_path: Path, mark: str) -> Callable:
    """Open the tools of a session; everything is ended when it closes."""

    @asynccontextmanager
    async def open_(
        config: Mapping[str, object] | None = None, environ: Mapping[str, str] | None = None
    ) -> AsyncIterator[Shell]:
        owner = ProcessOwner()
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "MARK": mark,
            "LANG": "C.UTF-8",
            **(environ or {}),
        }
        context = Context(OpenSandbox(owner, str(tmp_path)), str(tmp_path), variables)
        plugin = PluginContext(tmp_path, config or {}, str(tmp_path), thread_id=uuid.uuid4().hex)
        shell = Shell(context, plugin)
        try:
            yield shell
        finally:
            await shell.aclose()
            await owner.aclose()

    return open_


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def survivors(mark: str) -> Callable[[], list[int]]:
    """Find the processes of the test that still run."""
    return lambda: sorted(processes.survivors(mark))
