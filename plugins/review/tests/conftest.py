"""Real repositories, and the task that is written for what changed in them."""

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.change_review import ReviewRefusal
from ferrule_hookspecs.plugins import PluginContext
from ferrule_review.plugin import ferrule_review_task

_ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


class Checkout:
    """A repository with its files, and reviews of it."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.environ = {**_ENVIRON, "HOME": str(home)}
        self.config = {}
        self.hidden = set()

    def git(self, *words, check=True):
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=self.folder,
            env=self.environ,
            check=check,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text)

    def commit(self, message="work", **files):
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def task(self, target, cwd=None):
        """Return what the plugin answers."""
        context = PluginContext(
            self.home,
            self.config,
            str(cwd or self.folder),
            "thread",
            self.environ,
            services=_Services(self.hidden),
        )
        return anyio.run(ferrule_review_task, target, context)

    def prompt(self, target, cwd=None):
        """Return what the model is asked; fails where the review is refused."""
        task = self.task(target, cwd)
        assert not isinstance(task, ReviewRefusal), task.reason
        return task.prompt

    def uncommitted(self, cwd=None):
        return self.prompt({"type": "uncommittedChanges"}, cwd)

    def against(self, branch):
        return self.prompt({"type": "baseBranch", "branch": branch})

    def of_commit(self, sha, **more):
        return self.prompt({"type": "commit", "sha": sha, **more})

    def refusal(self, target, cwd=None):
        """Return why there is no review."""
        refused = self.task(target, cwd)
        assert isinstance(refused, ReviewRefusal)
        return refused.reason


class _Files:
    def __init__(self, hidden):
        self._hidden = hidden

    def check(self, operation, path):
        return "hidden" if path in self._hidden else None


class _Services:
    def __init__(self, hidden):
        self._hidden = hidden

    def files(self):
        return _Files(self._hidden)


@pytest.fixture
def empty(tmp_path):
    """A folder that is no repository."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    return Checkout(folder, home)


@pytest.fixture
def unborn(empty):
    """A repository without a commit."""
    empty.git("init", "-q", "-b", "main")
    return empty


@pytest.fixture
def checkout(unborn):
    """A repository with one commit."""
    unborn.commit("first", a__py="x = 1\n")
    return unborn
