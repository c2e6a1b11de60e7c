"""Folders of this process in Ferrule's home, where no sandboxed command can write."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_NAME: Final = "turn-diff"


def new_folder(home: Path) -> str:
    """Make an empty folder; what processes that were killed left behind is removed."""
    parent = os.path.join(home, _NAME)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    for name in os.listdir(parent):
        owner = name.partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent)


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
