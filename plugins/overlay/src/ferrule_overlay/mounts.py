"""The mounts of a view, and the process that holds them for as long as it is looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_overlay.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_overlay.shelf import Shelf

_PROGRAMS: Final = "/usr/bin:/bin:/usr/sbin:/sbin"


class Mounts:
    """What lies on a shelf, mounted over the folders it covers.

    Attributes:
        root: A folder of this process in which `/` of the view lies.
        trees: The covered folders as the view has them.
    """

    def __init__(self, shelf: Shelf) -> None:
        """Mount it; the caller holds the lock.

        Raises:
            SandboxUnavailableError: That is not possible.
        """
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
        self.trees = [Tree(f"{self.root}{root.path}") for root in shelf.roots]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.take_down()

    def entering(self, cwd: str) -> tuple[str, ...]:
        """The words before a command line that have it run in the view.

        Raises:
            SandboxUnavailableError: The view is gone.
        """
        if self._holder.poll() is not None:
            raise SandboxUnavailableError(
                "the process that holds the overlay was ended; resume the thread to go on"
            )
        users = ("--user", "--preserve-credentials") if self._has_users else ()
        pid = str(self._holder.pid)
        return (str(self._starter), "--target", pid, "--mount", *users, f"--wdns={cwd}", "--")

    def take_down(self) -> None:
        """End the holder, and the mounts with it."""
        os.close(self._root)
        self._end()

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
