"""The three tools in a folder, with the kernel's own files and processes behind them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule.attempt import BoundSandbox
from ferrule.processes import ProcessOwner
from ferrule_files.listing import ListDir
from ferrule_files.reading import ReadFile
from ferrule_files.search import GrepFiles
from ferrule_hookspecs import PluginContext, ResolvedPolicy, ToolCall
from ferrule_sandbox_none.backend import NoneBackend

TOOLS = {tool.name: tool for tool in (ReadFile, ListDir, GrepFiles)}


@dataclass
class Context:
    cwd: str
    sandbox: BoundSandbox
    path: str
    output_token_limit: int

    def environment(self, extra=None):
        return {"PATH": self.path}


@dataclass
class Bench:
    folder: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])
    deny_read: tuple[str, ...] = ()
    output_token_limit: int = 10_000

    def write(self, tree):
        for name, text in tree.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def tool(self, name, config=None):
        return TOOLS[name](PluginContext(home=self.folder, config=config or {}))

    def __call__(self, name, **arguments):
        return anyio.run(self._run, name, arguments)

    async def _run(self, name, arguments):
        mode = "workspace-write" if self.deny_read else "danger-full-access"
        policy = ResolvedPolicy(
            mode, str(self.folder), deny_read=self.deny_read, unconfined=not self.deny_read
        )
        owner = ProcessOwner()
        sandbox = BoundSandbox(NoneBackend(PluginContext(self.folder, {})), policy, owner)
        context = Context(str(self.folder), sandbox, self.path, self.output_token_limit)
        tool = self.tool(name)
        call = ToolCall("c", name, tool.normalize(arguments), "{}", "function")
        try:
            return (await tool.run(call, context)).output
        finally:
            await owner.aclose()


@pytest.fixture
def bench(tmp_path):
    folder = tmp_path / "ws"
    folder.mkdir()
    return Bench(folder)
