"""What is kept of one thread's view: `$FERRULE_HOME/overlays/THREAD`.

`about.json` says which folders are covered and how, `lock` is held by a session or a command that
works on it, `objects` and `batches` belong to what was applied, `checkpoints` and `rewinds` to
going back by turns, and a numbered folder for each covered one holds `base.json`, `upper` (what the
view changed), `work` and `below` (see `opening.py`).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.base import Base
from ferrule_overlay.copied import CopiedLayer
from ferrule_overlay.objects import ObjectStore
from ferrule_overlay.private_file import write_private
from ferrule_overlay.tree import Tree
from ferrule_overlay.upper import UpperLayer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ferrule_overlay.layer import Layer, Mechanism


class About(NamedTuple):
    """What a view covers.

    Attributes:
        thread_id: The thread.
        cwd: Its working directory.
        roots: The covered folders, canonical, the workspace first.
        mechanism: How they are covered.
        made_at: When, in seconds since 1970.
    """

    thread_id: str
    cwd: str
    roots: tuple[str, ...]
    mechanism: Mechanism = "overlayfs"
    made_at: float = 0.0


class Root:
    """One covered folder."""

    def __init__(self, path: str, folder: str, mechanism: Mechanism) -> None:
        """Take the covered folder and the one in which its view is kept."""
        self.path = path
        self.folder = folder
        self.real = Tree(path)
        self.base = Base(self.real, os.path.join(folder, "base.json"))
        self.layer: Layer
        upper = os.path.join(folder, "upper")
        if mechanism == "overlayfs":
            self.layer = UpperLayer(upper, self.real, self.base)
        else:
            self.layer = CopiedLayer(upper, self.real, os.path.join(folder, "made.json"))


class Shelf:
    """One thread's view on disk."""

    def __init__(self, home: Path | str, thread_id: str) -> None:
        """Take Ferrule's home and the thread; nothing is made."""
        self.path = os.path.join(home, "overlays", thread_id)
        self.thread_id = thread_id
        self.objects = ObjectStore(os.path.join(self.path, "objects"))
        self.about = _read_about(self.path)
        self._roots: list[Root] | None = None

    @property
    def exists(self) -> bool:
        """Whether there is anything."""
        return self.about is not None

    @property
    def roots(self) -> list[Root]:
        """The covered folders."""
        if self._roots is None:
            about = self.about
            self._roots = [
                Root(path, os.path.join(self.path, str(number)), about.mechanism)
                for number, path in enumerate(() if about is None else about.roots)
                if about is not None
            ]
        return self._roots

    def lay_out(self, cwd: str, roots: Sequence[str], mechanism: Mechanism) -> None:
        """Begin anew with these folders; what the view had changed is gone."""
        for number in range(len(self.about.roots) if self.about else 0):
            remove_tree(os.path.join(self.path, str(number)))
        about = About(self.thread_id, cwd, tuple(roots), mechanism, time.time())
        for number, path in enumerate(roots):
            for name in ("upper", "work", "below"):
                os.makedirs(os.path.join(self.path, str(number), name))
            upper = os.path.join(self.path, str(number), "upper")
            status = os.stat(path)  # the root of a view has the attributes of its upper layer
            if os.geteuid() == 0:
                os.chown(upper, status.st_uid, status.st_gid)
            os.chmod(upper, status.st_mode & 0o7777)
        write_private(os.path.join(self.path, "about.json"), json.dumps(about._asdict()))
        self.about, self._roots = about, None

    def remove(self) -> None:
        """Forget the view and everything that was applied from it."""
        remove_tree(self.path)
        self.about, self._roots = None, None

    def lock(self) -> int:
        """Keep everybody else out; the descriptor that holds the lock is the caller's to close.

        Raises:
            FerruleError: A session or a command works on it.
        """
        for folder in (os.path.dirname(self.path), self.path):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(os.path.join(self.path, "lock"), flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FerruleError(
                f"the changes of thread {self.thread_id} are in use by an open session or by"
                " another 'ferrule changes'; end that first"
            ) from None
        return descriptor

    def is_locked(self) -> bool:
        """Whether somebody works on it."""
        try:
            os.close(self.lock())
        except FerruleError:
            return True
        return False


def stored_threads(home: Path | str) -> list[About]:
    """Everything that is kept, the newest first."""
    folder = os.path.join(home, "overlays")
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [_read_about(os.path.join(folder, name)) for name in names]
    return sorted(
        (about for about in found if about is not None),
        key=lambda about: (about.made_at, about.thread_id),
        reverse=True,
    )


def remove_tree(path: str) -> None:
    """Remove a folder of ours, closed folders in it included."""

    def opened(function: object, place: str, _: object) -> None:
        for each in (os.path.dirname(place), place):
            if os.path.isdir(each) and not os.path.islink(each):
                os.chmod(each, 0o700)
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        elif os.path.lexists(place):
            os.unlink(place)

    if os.path.lexists(path):
        shutil.rmtree(path, onerror=opened)


def _read_about(path: str) -> About | None:
    try:
        with open(os.path.join(path, "about.json"), encoding="utf-8") as file:
            values = json.load(file)
    except FileNotFoundError:
        return None
    return About(**{**values, "roots": tuple(values["roots"])})
