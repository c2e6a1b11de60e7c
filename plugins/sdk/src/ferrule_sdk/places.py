"""Paths as users write them, made absolute for a server that may work elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def absolute(path: str | Path) -> str:
    """Return an absolute path; `~` is the home of whoever runs this program."""
    return os.path.abspath(os.path.expanduser(path))
