"""The mounted view of one session: satisfies the contract's `WorkspaceView`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_overlay.change import forget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.sandbox import Command, Launch
    from ferrule_overlay.shelf import Shelf

_PROGRAMS: Final = "/usr/bin:/bin:/usr/sbin:/sbin"
_IN_FOLDER: Final = 'cd -- "$0" && exec "$@"'


class MountedView:
    """Commands are started in the holder's namespaces, files are reached through its root."""

    def __init__(self, shelf: Shelf, lock: int) -> None:
        """Take the shelf and the lock on it, which is given back at the end."""
        self._shelf = shelf
        self._lock = lock
        self._roots = [root.path for root in shelf.roots]
        self._starter = shutil.which("nsenter", path=_PROGRAMS)
        if self._starter is None:
            raise SandboxUnavailableError(
                "an overlay needs the program nsenter; install util-linux"
            )
        self._holder = _start(_orders(shelf))
        try:
            self._answer()
            self._root = os.open(f"/proc/{self._holder.pid}/root", os.O_PATH | os.O_CLOEXEC)
            self._has_users = not _is_same_namespace(self._holder.pid, "user")
        except BaseException:
            self._end()
            raise
        self.root = f"/proc/self/fd/{self._root}"

    def command(self, command: Command) -> Command:
        """Have a shell in the view look for what this process cannot see: a folder, a program."""
        if os.path.isdir(command.cwd) and self._is_outside(command):
            return command
        covering = [root for root in self._roots if _is_inside(command.cwd, root)]
        if not covering:
            return command
        argv = ("/bin/sh", "-c", _IN_FOLDER, command.cwd, *command.argv)
        return command._replace(argv=argv, cwd=covering[0])

    def launch(self, launch: Launch) -> Launch:
        """Start what was prepared in the view.

        Raises:
            SandboxUnavailableError: The view is gone.
        """
        if self._holder.poll() is not None:
            raise SandboxUnavailableError(
                "the process that holds the overlay was ended; resume the thread to go on"
            )
        users = ("--user", "--preserve-credentials") if self._has_users else ()
        pid = str(self._holder.pid)
        enter = (str(self._starter), "--target", pid, "--mount", *users, f"--wdns={launch.cwd}")
        return launch._replace(argv=(*enter, "--", *launch.argv), cwd="/")

    async def aclose(self) -> None:
        """End the holder and give back the lock."""
        os.close(self._root)
        self._end()
        with suppress(OSError):  # what cannot be looked at stays
            forget(self._shelf)
        os.close(self._lock)

    def _is_outside(self, command: Command) -> bool:
        """Whether the program to run is not one that the view may have made."""
        found = shutil.which(
            os.path.join(command.cwd, command.argv[0])
            if "/" in command.argv[0]
            else command.argv[0],
            path=command.env.get("PATH", os.defpath),
        )
        return found is not None and not any(_is_inside(found, root) for root in self._roots)

    def _answer(self) -> None:
        """Wait for the holder's word.

        Raises:
            SandboxUnavailableError: It could not make the mounts.
        """
        pipe = self._holder.stdout
        word = "" if pipe is None else pipe.readline().decode(errors="replace").strip()
        if word != "ready":
            raise SandboxUnavailableError(word.removeprefix("error: ") or "the holder has died")

    def _end(self) -> None:
        for pipe in (self._holder.stdin, self._holder.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        with suppress(ChildProcessError):  # the kernel reaps what it finds
            self._holder.wait()


def _start(orders: Sequence[dict[str, object]]) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).with_name("holder.py"))
    return subprocess.Popen(
        [sys.executable, "-I", "-S", script, json.dumps(orders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        process_group=0,  # out of reach of what ends the session's own group
    )


def _orders(shelf: Shelf) -> list[dict[str, object]]:
    about = shelf.about
    return [
        {
            "mechanism": "overlayfs" if about is None else about.mechanism,
            "target": root.path,
            "lower": [root.path, os.path.join(root.folder, "below")],
            "upper": os.path.join(root.folder, "upper"),
            "work": os.path.join(root.folder, "work"),
        }
        for root in shelf.roots
    ]


def _is_same_namespace(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
