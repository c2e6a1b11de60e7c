"""Writes a file that only its owner may read, in one step that either happened or did not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace_private(file: Path, text: str) -> None:
    """Give a file a new content; its folder is made where it is missing.

    Raises:
        OSError: It cannot be written; what was there before is there still.
    """
    import tempfile  # 10 ms, and most sessions only read

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}")
    try:
        with os.fdopen(handle, "w") as made:
            made.write(text)
        os.replace(name, file)
    except OSError:
        os.unlink(name)
        raise
