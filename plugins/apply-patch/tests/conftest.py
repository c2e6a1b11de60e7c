"""A session for the tool: files of this machine, a policy to check against, no kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule_apply_patch.tool import ApplyPatch
from ferrule_hookspecs import Denial, PluginContext, ResolvedPolicy, ToolCall
from ferrule_hookspecs.sandbox import DirectoryEntry, FileStat, RemoveFile, WritableRoot
from ferrule_hookspecs.tools import SandboxDeniedError


class Files:
    """The contract's FileSystem; `broken` names a path whose writing fails."""

    def __init__(self, policy, broken=None):
        self.policy = policy
        self.broken = broken
        self.writes = 0

    def check(self, operation, path):
        roots = [root.path for root in self.policy.writable_roots]
        if operation == "read" or self.policy.unconfined:
            return None
        if any(os.path.realpath(path).startswith(root + os.sep) for root in roots):
            return None
        return Denial("write", f"{path} may not be written", path)

    async def stat(self, path):
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind = "directory" if os.path.isdir(path) else "file" if os.path.isfile(path) else "other"
        return FileStat(kind, found.st_size, found.st_mode & 0o7777)

    async def read(self, path, *, limit=None):
        return Path(path).read_bytes()[:limit]

    async def list(self, path):
        return [DirectoryEntry(name, "file") for name in sorted(os.listdir(path))]

    async def apply(self, edits):
        for edit in edits:
            if (denial := self.check("write", edit.path)) is not None:
                raise SandboxDeniedError(denial)
            if edit.path == self.broken:
                raise OSError(28, "No space left on device", edit.path)
        self.writes += 1
        for edit in edits:
            path = Path(edit.path)
            if isinstance(edit, RemoveFile):
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(edit.data)
            if edit.mode is not None:
                path.chmod(edit.mode)


@dataclass
class Sandbox:
    policy: ResolvedPolicy
    files: Files


@dataclass
class Context:
    cwd: str
    sandbox: Sandbox
    thread_id: str = "t"
    turn_id: str = "u"
    output_token_limit: int = 10_000
    events: list = field(default_factory=list)

    def emit(self, event):
        self.events.append(event)


@dataclass
class Bench:
    """One tool in one folder."""

    folder: Path
    policy: ResolvedPolicy
    broken: str | None = None

    def __post_init__(self):
        self.tool = ApplyPatch(PluginContext(home=self.folder, config={}))
        self.sandbox = Sandbox(self.policy, Files(self.policy, self.broken))

    def write(self, tree):
        for name, text in tree.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def tree(self):
        return {
            str(path.relative_to(self.folder)): path.read_bytes().decode("utf-8", "surrogateescape")
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def call(self, patch, **changes):
        return ToolCall("call_1", "apply_patch", {}, patch, "freeform", **changes)

    def apply(self, patch):
        return self.run(patch if isinstance(patch, ToolCall) else self.call(patch))

    def run(self, call):
        context = Context(str(self.folder), self.sandbox)
        return anyio.run(self.tool.run, call, context)

    def requirement(self, patch):
        return self.tool.requirement(self.call(patch), self.sandbox)


@pytest.fixture
def make_bench(tmp_path):
    def make(mode="danger-full-access", broken=None):
        folder = tmp_path / "ws"
        folder.mkdir(exist_ok=True)
        roots = (WritableRoot(str(folder)),) if mode == "workspace-write" else ()
        policy = ResolvedPolicy(mode, str(folder), roots, unconfined=mode == "danger-full-access")
        return Bench(folder, policy, broken and str(folder / broken))

    return make


@pytest.fixture
def bench(make_bench):
    return make_bench()
