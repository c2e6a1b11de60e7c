"""Files that only spare work or keep what is nice to know: losing one costs nothing else."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace_cache(file: Path, text: str) -> None:
    """Replace a file in one step, making its folder; where that cannot be done, it stays as it was.

    Quicker than `ferrule.home_file.replace_text`: whether it outlives a crash matters to nobody.
    """
    temporary = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(text, "utf-8")
        os.replace(temporary, file)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
