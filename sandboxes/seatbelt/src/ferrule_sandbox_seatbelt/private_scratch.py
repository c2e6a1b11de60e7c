"""A temporary folder of its own for a command that may write nothing else."""

from __future__ import annotations

import os
import shutil
import tempfile


def make_scratch() -> str:
    """Make a folder that only this user may enter; returns its canonical path.

    Raises:
        OSError: There is no place for one.
    """
    return os.path.realpath(tempfile.mkdtemp(prefix="ferrule-scratch-"))


def remove_scratch(path: str) -> None:
    """Remove a folder with all that a command left in it."""
    shutil.rmtree(path, ignore_errors=True)
