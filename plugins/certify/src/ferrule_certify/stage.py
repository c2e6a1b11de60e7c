"""The folders a probe acts in, made anew for every attempt, and what must not change in them."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule_certify.probe import Mode

INSIDE: Final = Path(__file__).with_name("inside")
_MAIN: Final = "import sys\nfrom inside.program import main\nsys.exit(main(sys.argv[1]))\n"
_PROTECTED: Final = (".git/config", ".git/hooks", "tree/.git", "shared/agents")
_NESTED: Final = ("nested/.git/config", "nested/.git/hooks")
_PINNED: Final = (".git", "nested", "nested/.git", "tree", "shared")
_SECRETS: Final = ("secret", "app.env", "deep/secret")
_MEBIBYTE: Final = 1 << 20
MAX_PROCESSES: Final = 60
MANY_PROCESSES: Final = 150
MAX_MEMORY: Final = 192 * _MEBIBYTE
MUCH_MEMORY: Final = 512 * _MEBIBYTE


class Names(NamedTuple):
    """Names in the workspace that a sandbox protects: one that is there, one that is missing."""

    present: str = ".ferrule"
    missing: str = ".codex"


class Stage(NamedTuple):
    """One set of folders.

    Attributes:
        path: Where they are.
        secret: What is in files that must not be read.
        names: Names in the workspace that are protected.
    """

    path: Path
    secret: str
    names: Names

    @property
    def workspace(self) -> Path:
        """The working directory, which may be written in most modes."""
        return self.path / "workspace"

    @property
    def outside(self) -> Path:
        """A folder that may never be written."""
        return self.path / "outside"

    def facts(self) -> dict[str, object]:
        """Tell the program inside where things are."""
        return {
            "stage": str(self.path),
            "workspace": str(self.workspace),
            "outside": str(self.outside),
            "canary": str(self.outside / "canary.txt"),
            "extra": str(self.path / "extra"),
            "home": str(self.path / "home"),
            "present": self.names.present,
            "missing": self.names.missing,
            "many_processes": MANY_PROCESSES,
            "much_memory": MUCH_MEMORY,
        }

    def environment(self, mode: Mode) -> dict[str, str]:
        """Build the environment of commands."""
        usual = "/usr/local/bin:/usr/bin:/bin"
        found = {"PATH": os.environ.get("PATH", usual), "HOME": str(self.path / "home")}
        found["LANG"] = "C.UTF-8"
        if mode != "read-only":
            found["TMPDIR"] = str(self.path / "tmp")
        return found


class Stages:
    """Makes stages from a template and removes them."""

    def __init__(self, base: Path, names: Names) -> None:
        """Make the template and a copy of the program that runs inside, in `base`."""
        self.base = base
        self.names = names
        self.program = base / "kit"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(INSIDE, self.program / INSIDE.name, ignore=ignored)
        (self.program / "__main__.py").write_text(_MAIN, "utf-8")
        self._template = base / "template"
        _make_template(self._template, names)

    def new(self) -> Stage:
        """Make a stage with secrets of its own."""
        stage = Stage(self.base / secrets.token_hex(6), secrets.token_hex(16), self.names)
        shutil.copytree(self._template, stage.path, symlinks=True)
        text = f"secret {stage.secret}\n"
        workspace = stage.workspace
        secret = (workspace / "secret/key", workspace / "app.env", workspace / "deep/secret/key")
        for path in (*secret, stage.path / "home/keys/id_ed25519", stage.outside / "canary.txt"):
            path.write_text(text, "utf-8")
        (stage.outside / f"name-{stage.secret}").touch()
        (workspace / "secret" / f"name-{stage.secret}").touch()
        return stage

    def remove(self, stage: Stage) -> None:
        """Remove a stage, whatever a probe has made of it."""
        with suppress(OSError):
            for folder, _, _ in os.walk(stage.path):
                os.chmod(folder, 0o700)
        shutil.rmtree(stage.path, ignore_errors=True)

    def policy(self, stage: Stage, mode: Mode, changes: Mapping[str, object]) -> ResolvedPolicy:
        """Resolve a mode for a stage."""
        usual = ResolvedPolicy(
            "read-only" if mode == "read-only" else "workspace-write",
            str(stage.workspace),
            deny_read=(str(stage.path / "home" / "keys"),),
            network=mode == "network",
        )
        if mode != "read-only":
            usual = usual._replace(writable_roots=_roots(stage))
        if mode == "deny-read":
            hidden = tuple(str(stage.workspace / name) for name in _SECRETS)
            usual = usual._replace(deny_read=(*usual.deny_read, *hidden))
        if mode == "readable-roots":
            usual = usual._replace(readable_roots=(str(self.program), *_interpreter()))
        if mode == "bounds":
            usual = usual._replace(max_processes=MAX_PROCESSES, max_memory_bytes=MAX_MEMORY)
        return usual._replace(**changes)  # pyright: ignore[reportArgumentType] -- of a probe's table


def state(stage: Stage, policy: ResolvedPolicy) -> dict[str, object]:
    """Describe everything that a command under a policy must leave as it is."""
    found: dict[str, object] = {"top": sorted(os.listdir(stage.path))}
    watched: list[Path] = [stage.outside, stage.path / "home"]
    watched += [Path(place) for place in policy.deny_read]
    if not policy.writable_roots:
        watched += [stage.workspace, stage.path / "extra"]
    for root in policy.writable_roots:
        watched += map(Path, root.read_only)
        for path in (*root.forbidden, *root.pinned, root.path):
            found[f"itself {path}"] = _itself(path)
    for path in watched:
        found.update(_tree(path))
    return found


def changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Name what differs between two states."""
    names = (name for name in {**before, **after} if before.get(name) != after.get(name))
    return sorted(names)


def _roots(stage: Stage) -> tuple[WritableRoot, ...]:
    workspace, extra = str(stage.workspace), str(stage.path / "extra")
    present, missing = stage.names
    names = (*_PROTECTED, *_NESTED, present, "linked-settings")
    return (
        WritableRoot(
            workspace,
            tuple(f"{workspace}/{name}" for name in names),
            (f"{workspace}/{missing}",),
            tuple(f"{workspace}/{name}" for name in _PINNED),
        ),
        WritableRoot(
            extra,
            (f"{extra}/.git/config", f"{extra}/.git/hooks"),
            (f"{extra}/{missing}",),
            (f"{extra}/.git",),
        ),
        WritableRoot(str(stage.path / "tmp")),
    )


def _interpreter() -> Iterable[str]:
    places = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)))
    return dict.fromkeys(os.path.realpath(place) for place in places)


def _itself(path: str) -> object:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mode


def _tree(path: Path) -> dict[str, object]:
    found = {str(path): _facts(str(path))}
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            found[f"{folder}/{name}"] = _facts(f"{folder}/{name}")
    return found


def _facts(path: str) -> object:
    """Describe a file by all that a command could change of it; folders without their times."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    facts: list[object] = [found.st_mode, found.st_uid, found.st_gid]
    if S_ISLNK(found.st_mode):
        return [*facts, os.readlink(path)]
    if S_ISREG(found.st_mode):
        facts += [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
        facts.append(zlib.crc32(Path(path).read_bytes()) if os.access(path, os.R_OK) else 0)
    elif S_ISDIR(found.st_mode):
        facts.append(found.st_ino)
    return facts


def _make_template(path: Path, names: Names) -> None:
    for folder in (
        *("outside/empty", "home/keys", "tmp", "extra", "workspace/secret"),
        *("workspace/deep/secret", "workspace/nested", "workspace/tree"),
        *("workspace/shared/agents", f"workspace/{names.present}"),
    ):
        (path / folder).mkdir(parents=True)
    workspace = path / "workspace"
    for file, text in (
        ("workspace/data.txt", "data\n"),
        ("extra/data.txt", "data\n"),
        ("workspace/tree/.git", "gitdir: ../.git/worktrees/tree\n"),
        (f"workspace/{names.present}/config.toml", ""),
        ("home/.bashrc", "# usual\n"),
        ("home/keys/authorized_keys", "# none\n"),
    ):
        (path / file).write_text(text, "utf-8")
    os.symlink("../outside", workspace / "link-folder")
    os.symlink("../outside/canary.txt", workspace / "link-file")
    os.symlink("shared/agents", workspace / "linked-settings")
    for folder in (workspace, workspace / "nested", path / "extra"):
        _make_repository(folder)
    (workspace / ".git/hooks/post-commit").write_text("#!/bin/sh\n", "utf-8")


def _make_repository(folder: Path) -> None:
    """Make a repository with git, or the folders of one where git is missing."""
    git = shutil.which("git")
    if git is None:
        for name in ("hooks", "objects", "refs"):
            (folder / ".git" / name).mkdir(parents=True)
        (folder / ".git/HEAD").write_text("ref: refs/heads/main\n", "utf-8")
        (folder / ".git/config").write_text("[core]\n", "utf-8")
        return
    run = (git, "-c", "user.name=Kit", "-c", "user.email=kit@example.invalid", "-C", str(folder))
    ignored = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), **ignored}
    for words in (
        ("init", "-q", "--template=", "-b", "main"),
        ("add", "--", "data.txt") if (folder / "data.txt").exists() else ("status", "-s"),
        ("commit", "-q", "--allow-empty", "-m", "start"),
    ):
        subprocess.run((*run, *words), env=environ, check=True, capture_output=True)
    (folder / ".git/hooks").mkdir(exist_ok=True)
