"""A plugin's checkout that is edited while a session lives."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule import editions
from ferrule.approval_record import record_approval
from ferrule.host import LocalHost
from ferrule.index import build_index

TOOL = """\
from ferrule_hookspecs import Tool, ToolResult
class Ticket(Tool):
    '''File a ticket.'''
    name = "ticket"
    async def run(self, call, context):
        return ToolResult({answer!r})
"""
GUARD = """\
from ferrule_hookspecs import Verdict, hookimpl
@hookimpl
def ferrule_tool_before(call):
    return Verdict.deny({reason!r}) if call.tool == "ticket" else None
"""


POINTS = "[ferrule.plugins]\nacme_guard = acme_reload\n"


@dataclass
class Checkout:
    """A project with one package `acme_reload`, which tests edit."""

    folder: Path

    @property
    def package(self) -> Path:
        return self.folder / "src" / "acme_reload"

    def declare(self, version: str = "1.0", **points: str) -> None:
        """Say which entry points there are; `tools`, `plugins` … to `name = target`."""
        lines = [f'[project]\nname = "acme-reload"\nversion = "{version}"']
        for group, point in points.items():
            name, _, target = point.partition("=")
            lines.append(f'[project.entry-points."ferrule.{group}"]\n{name} = "{target}"')
        (self.folder / "pyproject.toml").write_text("\n".join(lines) + "\n")

    def write(self, name: str, text: str) -> None:
        path = self.package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def tool(self, answer: str) -> None:
        self.write("tool.py", TOOL.format(answer=answer))

    def guard(self, reason: str) -> None:
        self.write("guard.py", GUARD.format(reason=reason))


class SiteHost(LocalHost):
    """A host to whose plugins those of one folder belong, beside the kernel's own of the tests."""

    def read_index(self):
        return build_index([str(self.home.parent / "site")], self.environ)


@dataclass
class Site:
    """A folder into which a distribution with one guard is installed."""

    folder: Path

    def install(
        self, version: str, reason: str, *, requires: str = "", points: str = POINTS
    ) -> None:
        self.remove()
        info = self.folder / f"acme_reload-{version}.dist-info"
        info.mkdir(parents=True)
        text = GUARD.format(reason=reason).replace("ticket", "note")
        (self.folder / "acme_reload.py").write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        (info / "METADATA").write_text(f"Name: acme-reload\nVersion: {version}\n{requires}\n")
        (info / "entry_points.txt").write_text(points)
        (info / "RECORD").write_text(f"acme_reload.py,sha256={digest.decode()},\n")

    def approve(self, host: LocalHost) -> None:
        """Approve what is there, which judges."""
        for entry in host.read_index().all_entries():
            if entry.distribution == "acme-reload":
                record_approval(entry, ["ferrule_tool_before"], "2026-01-01", host.environ)

    def remove(self) -> None:
        for path in self.folder.glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def talk(bench, stage):
    """Call a tool once a turn, taking a step before every turn but the first; the answers."""

    def run(*steps, tool="ticket", arguments="{}", **changes):
        async def script(session):
            for count in range(len(steps) + 1):
                if count:
                    steps[count - 1]()
                stage.turns.append([call(tool, arguments, f"c{count}"), DONE])
                stage.turns.append([*say("ok"), DONE])
                await bench.start(session)
                await bench.until("turn/completed", count + 1)

        bench.run(script, **changes)
        return list(bench.outputs(stage).values())

    return run


@pytest.fixture
def note(talk):
    """Call the kernel's own tool `note` once a turn, as `talk` does."""
    return partial(talk, tool="note", arguments='{"text": "a"}', ephemeral=True)


@pytest.fixture
def warnings(bench):
    """Say what the user was told."""
    return lambda: [params["message"] for params in bench.of("warning")]


@pytest.fixture
def site(bench, tmp_path):
    """A site folder that the bench's sessions use."""
    made = Site(tmp_path / "site")
    made.folder.mkdir()
    environ = {**bench.host.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    bench.host = SiteHost(bench.host.home, environ)
    path = list(sys.path)
    yield made
    sys.path[:] = path
    editions.forget("acme-reload")


@pytest.fixture
def checkout(bench, tmp_path):
    """A checkout that the bench's sessions use; what was imported from it is forgotten."""
    made = Checkout(tmp_path / "acme")
    made.write("__init__.py", "")
    made.declare(tools="ticket=acme_reload.tool:Ticket")
    made.tool("one")
    key = "FERRULE_DEV_PLUGIN"
    bench.host.environ[key] = os.pathsep.join([bench.host.environ[key], str(made.folder)])
    path = list(sys.path)
    yield made
    sys.path[:] = path
    editions.forget("acme-reload")
