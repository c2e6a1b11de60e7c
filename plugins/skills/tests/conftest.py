"""A home, a trusted project, and what the hooks say about their skills."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import TurnInfo
from ferrule_skills.hooks import (
    ferrule_context_fragments,
    ferrule_context_updates,
    ferrule_prompt_submit,
    ferrule_session_end,
)


@dataclass
class Place:
    """A home, a user's home, an administrator's folder and a project."""

    folder: Path
    config: dict = field(default_factory=lambda: {"project_root_markers": [".mark"]})
    is_trusted: bool = True
    warnings: list = field(default_factory=list)

    @property
    def project(self):
        return self.folder / "project"

    def skill(self, path, description="Does it.", name="", text="Body\n"):
        """Write a skill below the folder; returns its file."""
        file = self.folder / path / "SKILL.md"
        file.parent.mkdir(parents=True)
        named = f"name: {name}\n" if name else ""
        file.write_text(f"---\n{named}description: {description}\n---\n{text}")
        return file

    def context(self, cwd=""):
        return PluginContext(
            self.folder / "home",
            self.config,
            str(self.project / cwd),
            "thread",
            environ={"HOME": str(self.folder / "user")},
            project_root=str(self.project),
            is_trusted=self.is_trusted,
            admin=self.folder / "admin",
            warn=self.warnings.append,
        )

    def fragment(self, cwd=""):
        """What a new session begins with; None for nothing."""
        given = anyio.run(ferrule_context_fragments, self.context(cwd))
        return given[0] if given else None

    def names(self, cwd=""):
        """The names that are listed, in order."""
        fragment = self.fragment(cwd)
        if fragment is None:
            return []
        lines = fragment.text.partition("### Available skills\n")[2].splitlines()
        return [line[2:].partition(":")[0] for line in lines if line.startswith("- ")]

    def update(self, told, cwd=""):
        """What a turn tells; None for nothing."""
        given = anyio.run(ferrule_context_updates, self.context(cwd), told)
        return given[0] if given else None

    def prompt(self, *parts):
        """What is put behind a prompt of texts and other input."""
        content = [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]
        turn = TurnInfo("thread", "turn", str(self.project), "model")
        reply = anyio.run(ferrule_prompt_submit, content, turn)
        assert reply is None or reply.role == "user"
        return "" if reply is None else reply.context


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    (made.project / ".mark").mkdir(parents=True)
    yield made
    anyio.run(ferrule_session_end, made.context(), "closed")
