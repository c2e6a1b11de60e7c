"""How the launcher itself is started: apart from what the command is given."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.sandbox import Launch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LAUNCHER: Final = ("-I", "-m", "ferrule_sandbox_windows.launcher")
_OWN_VARIABLES: Final = ("SYSTEMROOT", "SYSTEMDRIVE")


def launch_of(
    *words: str, environ: Mapping[str, str], cleanup: Callable[[], None] | None = None
) -> Launch:
    """Start the launcher with these words; nothing of the command's reaches its interpreter."""
    own = {name: value for name, value in environ.items() if name.upper() in _OWN_VARIABLES}
    folder = os.path.dirname(sys.executable)
    return Launch((sys.executable, *_LAUNCHER, *words), own, folder, cleanup=cleanup)
