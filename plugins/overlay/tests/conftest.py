"""A workspace, a view of it, and programs that change what they find in it."""

import json
import os
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, Launch, ResolvedPolicy, WritableRoot
from ferrule_overlay import opening
from ferrule_overlay.batches import Batches
from ferrule_overlay.change import pending_changes
from ferrule_overlay.opening import open_view
from ferrule_overlay.selection import Selection
from ferrule_overlay.shelf import Shelf
from ferrule_overlay.taking_over import apply, discard, rollback

WORKER = Path(__file__).with_name("file_worker.py")
THREAD = "0190aaaa-0000-7000-8000-000000000001"
NAMES = ("a", "b", "c", "d.txt", "e\nf", "größe")
KINDS = ("write", "append", "remove", "mkdir", "rmtree", "move", "chmod", "symlink", "replace")


class Case:
    """One workspace and the changes of one thread in it."""

    def __init__(self, folder):
        self.home, self.workspace = folder / "home", folder / "work"
        self.home.mkdir(parents=True)
        self.workspace.mkdir()
        self.path = str(self.workspace)
        self.warnings = []
        self.policy = ResolvedPolicy(
            "workspace-write", self.path, writable_roots=(WritableRoot(self.path),)
        )

    def context(self, **config):
        return PluginContext(
            self.home,
            {"overlay": True, **config},
            self.path,
            THREAD,
            warn=self.warnings.append,
        )

    @property
    def shelf(self):
        return Shelf(self.home, THREAD)

    def in_view(self, *programs, **config):
        """Run programs one after the other in one session; returns what they say."""
        view = open_view(self.context(**config), self.policy)
        try:
            return [self.run(view, argv) for argv in programs]
        finally:
            anyio.run(view.aclose)

    def run(self, view, argv, cwd=None):
        command = view.command(Command(tuple(argv), cwd or self.path, dict(os.environ)))
        launch = view.launch(Launch(self.found(command.argv), command.env, command.cwd))
        finished = subprocess.run(
            launch.argv, env=launch.env, cwd=launch.cwd, capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def found(self, argv):
        return (shutil.which(argv[0]) or argv[0], *argv[1:])

    def shell(self, *scripts):
        """Run shell scripts in one session."""
        return self.in_view(*(("sh", "-ec", script) for script in scripts))

    def pending(self):
        return {change.path: change for change in pending_changes(self.shelf)}

    def apply(self, policy=None, **selection):
        shelf = self.shelf
        chosen = self.selection(**selection)
        return self.told(apply(shelf, Batches(shelf), chosen, policy or self.policy))

    def discard(self, **selection):
        return self.told(discard(self.shelf, self.selection(**selection)))

    def rollback(self, number=None, **selection):
        shelf = self.shelf
        batches = Batches(shelf)
        batch = batches.last_applied() if number is None else batches.find(number)
        chosen = self.selection(**selection)
        return self.told(rollback(shelf, batches, batch, chosen, self.policy))

    def selection(self, **named):
        return Selection(
            **{
                key: value if key == "hunks" else [f"{self.path}/{path}" for path in value]
                for key, value in named.items()
            }
        )

    def told(self, result):
        """A result with paths relative to the workspace."""
        prefix = f"{self.path}/"
        done = {place.removeprefix(prefix) for place in result.done}
        left = {place.removeprefix(prefix): why for place, why in result.left.items()}
        return result._replace(done=done, left=left)

    def write(self, path, text, mode=None):
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if mode is not None:
            place.chmod(mode)
        return place


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path / "case")


@pytest.fixture
def make_case(tmp_path):
    return lambda name: Case(tmp_path / name)


@pytest.fixture
def snapshot():
    """Everything below a folder, as it can be compared."""
    return take_snapshot


def take_snapshot(folder):
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            key = os.path.relpath(path, folder)
            if stat.S_ISLNK(status.st_mode):
                found[key] = ("link", os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[key] = ("folder", mode)
            else:
                found[key] = ("file", mode, Path(path).read_bytes())
    return found


@pytest.fixture
def random_tree():
    """Fill a folder at random."""

    def fill(folder, seed):
        dice = random.Random(seed)
        for _ in range(dice.randint(4, 14)):
            path = os.path.join(folder, *(dice.choice(NAMES) for _ in range(dice.randint(1, 3))))
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                kind = dice.random()
                if kind < 0.15:
                    os.symlink(dice.choice(NAMES), path)
                elif kind < 0.3:
                    os.mkdir(path, dice.choice((0o755, 0o700)))
                else:
                    Path(path).write_bytes(dice.randbytes(dice.randint(0, 40)))
                    os.chmod(path, dice.choice((0o644, 0o600, 0o755)))
            except OSError:
                continue

    return fill


@pytest.fixture
def random_orders():
    """Orders for `file_worker.py`, as JSON."""

    def make(seed):
        dice = random.Random(seed)

        def path():
            return "/".join(dice.choice(NAMES) for _ in range(dice.choice((1, 1, 2, 2, 3))))

        return json.dumps(
            [
                {
                    "kind": dice.choice(KINDS),
                    "path": path(),
                    "other": path(),
                    "mode": dice.choice((0o644, 0o600, 0o755, 0o700, 0o500, 0o444)),
                    "text": f"{dice.random()}\n" * dice.randint(0, 3),
                }
                for _ in range(dice.randint(3, 16))
            ]
        )

    return make


@pytest.fixture
def worker():
    """The command line that follows orders in the current folder."""
    return lambda orders: (sys.executable, "-I", str(WORKER), orders)


@pytest.fixture
def no_overlay(monkeypatch):
    """A machine on which overlays cannot be mounted."""

    def refuse(roots):
        raise SandboxUnavailableError("no overlays here")

    monkeypatch.setattr(opening, "_check_mounts", refuse)
