"""A site folder that tests fill with tiny distributions, and what Ferrule makes of it."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ferrule.index import Index, build_index
from ferrule.manager import PluginManager
from ferrule_hookspecs.plugins import PluginContext


@dataclass
class Site:
    """A site folder with its own cache and home."""

    root: Path
    reports: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "site"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "FERRULE_HOME": str(self.root / "home"),
        }

    @property
    def context(self) -> PluginContext:
        return PluginContext(self.root / "home", {})

    def add(
        self,
        distribution: str,
        points: dict[str, str],
        modules: dict[str, str],
        *,
        version: str = "1.0",
        requires: str = "",
        folder: Path | None = None,
    ) -> Path:
        """Install a distribution; `points` maps `group:name` to targets."""
        folder = folder or self.folder
        folder.mkdir(parents=True, exist_ok=True)
        before = folder.stat().st_mtime_ns
        for old in folder.glob(f"{distribution.replace('-', '_')}-*.dist-info"):
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
        info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
        lines += ["Summary: A test plugin", "Author: Acme Corp"]
        lines += [f"Requires-Dist: ferrule-hookspecs{requires}"] if requires else []
        (info / "METADATA").write_text("\n".join(lines) + "\n\n")
        text = ""
        for key, target in points.items():
            group, _, name = key.partition(":")
            text += f"[{group}]\n{name} = {target}\n"
        (info / "entry_points.txt").write_text(text)
        record = ""
        for name, source in modules.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(source)
            digest = base64.urlsafe_b64encode(hashlib.sha256(source.encode()).digest())
            record += f"{name},sha256={digest.rstrip(b'=').decode()},{len(source)}\n"
        (info / "RECORD").write_text(record)
        if folder.stat().st_mtime_ns == before:  # the clock of file systems is slower than tests
            os.utime(folder, ns=(before + 1, before + 1))
        return info

    def add_hooks(self, name: str, source: str, **options) -> Path:
        """Install the distribution `acme-NAME` with one hook module of the given source."""
        module = f"acme_hooks_{name}"
        head = "from ferrule_hookspecs import Verdict, hookimpl\n"
        return self.add(
            f"acme-{name}",
            {f"ferrule.plugins:{name}": module},
            {f"{module}.py": head + source},
            **options,
        )

    def add_contract(self, version: str) -> None:
        """Let the site look as if this version of the contract were installed in it."""
        info = self.folder / f"ferrule_hookspecs-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: ferrule-hookspecs\nVersion: {version}\n\n")

    def index(self, *, dev_plugins: tuple[str, ...] = (), **environ: str) -> Index:
        return build_index([str(self.folder)], {**self.environ, **environ}, dev_plugins=dev_plugins)

    def manager(
        self, config: dict[str, object] | None = None, *, dev_plugins=(), **environ: str
    ) -> PluginManager:
        index = self.index(dev_plugins=dev_plugins, **environ)
        return PluginManager(index, config or {}, report=self.reports.append)


@pytest.fixture
def site(tmp_path: Path):
    """An empty site folder; what was imported from it is forgotten afterwards."""
    (tmp_path / "site").mkdir()
    with _forgotten(tmp_path):
        yield Site(tmp_path)


@pytest.fixture(scope="module")
def lasting_site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site folder of all tests of a module, so that what is installed is looked at once."""
    root = tmp_path_factory.mktemp("lasting")
    (root / "site").mkdir()
    return Site(root)


@pytest.fixture
def borrowed_site(lasting_site: Site):
    """That of the module, as if nothing had been imported from it or said of it."""
    lasting_site.reports.clear()
    with _forgotten(lasting_site.root):
        yield lasting_site


@contextmanager
def _forgotten(root: Path) -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(root)):
            del sys.modules[name]


TOOL = """
from ferrule_hookspecs import Tool, ToolResult
class {cls}(Tool):
    name = {name!r}
    async def run(self, call, context):
        return ToolResult("done")
"""


@pytest.fixture
def tool_source():
    """The source of a module with one tool."""
    return lambda name, cls="Ticket": TOOL.format(name=name, cls=cls)
