"""A trial before the first command: what of a way's claims holds on this machine.

Nothing of this backend was ever proved on a real machine, so it believes no manual: one command
runs in a place made for it, tries everything that it must not be able to do, and what it leaves
there tells which claims are false. Only what was found to hold is declared.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.sandbox import Feature, Launch

_SECONDS: Final = 60
_SCRIPT: Final = """\
@echo off
echo x> allowed
echo x> ..\\outside\\new
del /f /q ..\\outside\\removed
echo x>> ..\\outside\\changed
type ..\\readable\\file > read
type ..\\hidden\\file > copied
echo x> kept\\new
del /f /q kept\\file
ren kept moved
mkdir missing
echo x> missing\\new
curl.exe --version > curled
curl.exe --silent --max-time 5 --output NUL http://127.0.0.1:{port}/
exit /b 0
"""


class Outcome(NamedTuple):
    """What a trial showed.

    Attributes:
        fault: Why no command works; None where one does.
        broken: What does not hold.
    """

    fault: str | None
    broken: frozenset[Feature] = frozenset()


class Trial:
    """A place with everything that a command must not touch, and one command that tries."""

    def __init__(self, folder: Path) -> None:
        """Build the place in an empty folder."""
        self._folder = folder
        for name in ("workspace/kept", "outside", "readable", "hidden"):
            (folder / name).mkdir(parents=True)
        for name in (
            *("workspace/kept/file", "outside/removed", "outside/changed"),
            *("readable/file", "hidden/file"),
        ):
            (folder / name).write_text("content")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        script = _SCRIPT.format(port=self._listener.getsockname()[1])
        self._script = folder / "workspace" / "try.cmd"
        self._script.write_text(script.replace("\n", "\r\n"), newline="")

    def policy(self, claims: frozenset[Feature]) -> ResolvedPolicy:
        """What is tried; nothing is hidden where that is not claimed."""
        workspace = self._folder / "workspace"
        root = WritableRoot(
            str(workspace),
            (str(workspace / "kept"), str(self._script)),
            (str(workspace / "missing"),),
        )
        hidden = (str(self._folder / "hidden"),) if "deny_read" in claims else ()
        return ResolvedPolicy("workspace-write", str(workspace), (root,), hidden)

    def command(self, environ: Mapping[str, str]) -> Command:
        """The command that tries."""
        root = environ.get("SYSTEMROOT", "C:\\Windows")
        shell = f"{root}\\System32\\cmd.exe"
        env = {"SYSTEMROOT": root, "PATH": f"{root}\\System32", "COMSPEC": shell}
        return Command((shell, "/d", "/c", "try.cmd"), str(self._folder / "workspace"), env)

    def outcome(self) -> Outcome:
        """Look at what the command left."""
        at = self._folder
        if not (at / "workspace/allowed").exists():
            return Outcome("a command could not write in a folder that it may write")
        if self._text("workspace/read") != "content":
            return Outcome("a command could not read a file that it may read")
        broken: set[Feature] = set()
        outside = ("outside/removed", "outside/changed")
        if (at / "outside/new").exists() or any(self._text(name) != "content" for name in outside):
            broken.add("filesystem")
        if (at / "workspace/kept/new").exists() or self._text("workspace/kept/file") != "content":
            broken.add("protected_paths")
        if (at / "workspace/missing/new").exists():
            broken.add("missing_names")
        if "content" in self._text("workspace/copied"):
            broken |= {"deny_read", "readable_roots"}
        if self._was_contacted() or not self._text("workspace/curled"):  # or could not try
            broken.add("network")
        return Outcome(None, frozenset(broken))

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _text(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(errors="replace").strip()
        except OSError:
            return ""

    def _was_contacted(self) -> bool:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True


def run_to_its_end(launch: Launch) -> str | None:
    """Run what a way has launched; returns what went wrong."""
    try:
        ended = subprocess.run(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        if launch.cleanup is not None:
            # What came into being under a missing name is found in the place.
            with contextlib.suppress(SandboxUnavailableError):
                launch.cleanup()
    if ended.returncode:
        said = " ".join((ended.stdout + ended.stderr).decode("utf-8", "replace").split())
        return f"a trial ended with exit code {ended.returncode}: {said or 'it said nothing'}"
    return None


def place_of(folder: str) -> Path:
    """Make an empty folder for a trial."""
    path = Path(folder, "trial")
    os.mkdir(path)
    return path
