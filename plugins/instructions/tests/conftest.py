"""A home, a trusted project, and what the hooks say about them."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_instructions.hooks import (
    ferrule_context_fragments,
    ferrule_context_updates,
    ferrule_session_end,
)

CONFIG = {
    "project_root_markers": [".git"],
    "project_doc_max_bytes": 32_768,
    "project_doc_fallback_filenames": [],
}


@dataclass
class Place:
    """A home and a project."""

    home: Path
    project: Path
    config: dict = field(default_factory=lambda: dict(CONFIG))
    is_trusted: bool = True
    warnings: list = field(default_factory=list)

    def write(self, path, text):
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def context(self, cwd="", root=""):
        return PluginContext(
            self.home,
            self.config,
            str(self.project / cwd),
            "thread",
            project_root=str(self.project / root),
            is_trusted=self.is_trusted,
            warn=self.warnings.append,
        )

    def fragment(self, cwd="", root=""):
        """What a new session begins with; None for nothing."""
        given = anyio.run(ferrule_context_fragments, self.context(cwd, root))
        return given[0] if given else None

    def text(self, cwd="", root=""):
        fragment = self.fragment(cwd, root)
        return "" if fragment is None else fragment.text

    def update(self, told, cwd=""):
        """What a turn tells; None for nothing."""
        given = anyio.run(ferrule_context_updates, self.context(cwd), told)
        return given[0] if given else None


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path / "home", tmp_path / "project")
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    yield made
    anyio.run(ferrule_session_end, made.context(), "closed")
