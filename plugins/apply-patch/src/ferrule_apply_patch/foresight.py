"""What a patch would do to the files as they are now, for showing before it is approved.

Only small files of the workspace are looked at, and nobody but the user's clients is shown them.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from ferrule_apply_patch.parser import PatchError
from ferrule_apply_patch.plan import FileState, make_plan, touched_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ferrule_apply_patch.parser import Section
    from ferrule_hookspecs.items import FileUpdateChange

_MOST_BYTES: Final = 1024 * 1024


def foreseen(
    sections: Sequence[Section], resolve: Callable[[str], str], cwd: str
) -> list[FileUpdateChange] | None:
    """Return the changes with their line numbers; None where they cannot be told ahead."""
    root = os.path.realpath(cwd)
    files: dict[str, FileState] = {}
    for path in touched_paths(sections, resolve):
        state = _state(path, root)
        if state is None:
            return None
        files[path] = state
    try:
        return make_plan(sections, resolve, files).changes
    except PatchError:
        return None


def _state(path: str, root: str) -> FileState | None:
    real = os.path.realpath(path)
    if not real.startswith(root.rstrip("/") + "/"):
        return None
    try:
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        with open(real, "rb") as file:
            return FileState(file.read(), stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return FileState()
    except OSError:
        return None
