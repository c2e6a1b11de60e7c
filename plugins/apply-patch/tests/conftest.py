"""A session for the tool: files of this machine, a policy to check against, no kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule.files import LocalFiles
from ferrule_apply_patch.tool import ApplyPatch
from ferrule_hookspecs import PluginContext, ResolvedPolicy, ToolCall
from ferrule_hookspecs.sandbox import WritableRoot


class Files(LocalFiles):
    """The kernel's own file access, counting batches."""

    batches = 0

    async def apply(self, edits):
        self.batches += 1
        await super().apply(edits)


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

    def __post_init__(self):
        self.tool = ApplyPatch(PluginContext(home=self.folder, config={}))
        self.sandbox = Sandbox(self.policy, Files(self.policy))

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
    def make(mode="danger-full-access"):
        folder = tmp_path / "ws"
        folder.mkdir(exist_ok=True)
        roots = (WritableRoot(str(folder)),) if mode == "workspace-write" else ()
        policy = ResolvedPolicy(mode, str(folder), roots, unconfined=mode == "danger-full-access")
        return Bench(folder, policy)

    return make


@pytest.fixture
def bench(make_bench):
    return make_bench()
