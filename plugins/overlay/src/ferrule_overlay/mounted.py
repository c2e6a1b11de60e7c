"""The mounted view of one session: satisfies the contract's `RewindableView`."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.change import forget
from ferrule_overlay.mounts import Mounts
from ferrule_overlay.rewinding import Rewinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.sandbox import Command, Launch
    from ferrule_overlay.shelf import Shelf

_IN_FOLDER: Final = 'cd -- "$0" && exec "$@"'


class MountedView:
    """Commands are started in the holder's namespaces, files are reached through its root."""

    def __init__(self, shelf: Shelf, lock: int) -> None:
        """Take the shelf and the lock on it, which is given back at the end."""
        self._shelf = shelf
        self._lock = lock
        self._roots = [root.path for root in shelf.roots]
        self._mounts = Mounts(shelf)
        self._busy = Lock()
        self.root = self._mounts.root

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
        enter = self._mounts.entering(launch.cwd)
        return launch._replace(argv=(*enter, *launch.argv), cwd="/")

    def begin_turn(self, turn_id: str) -> str:
        """Keep what the view has now; tells why that was not done, or nothing."""
        with self._busy:
            try:
                Rewinds(self._shelf).begin_turn(turn_id, self._mounts.trees)
            except (FerruleError, OSError) as error:
                return f"the files of this turn cannot be taken back later: {error}"
        return ""

    def rewind(self, turn_ids: Sequence[str]) -> str:
        """Have the files as they were when the first of these turns began.

        Raises:
            FerruleError: That is not known, or something was applied since.
        """
        with self._busy:
            left = Rewinds(self._shelf).before_turns(turn_ids, self._mounts.trees).left
        if not left:
            return ""
        told = "; ".join(f"{place}: {reason}" for place, reason in left.items())
        return f"not all files could be taken back: {told}"

    async def aclose(self) -> None:
        """End the holder and give back the lock."""
        with self._busy:
            self._mounts.take_down()
        with suppress(OSError):  # what cannot be looked at stays
            Rewinds(self._shelf).release()
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


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
