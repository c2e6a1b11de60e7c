"""Private folders for commands: what their launcher is told, and room for temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from ferrule_sandbox_windows.environment import variable
from ferrule_sandbox_windows.places import lies_in_any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule_hookspecs.sandbox import ResolvedPolicy


def needs_scratch(policy: ResolvedPolicy, env: Mapping[str, str]) -> bool:
    """Whether a command may not write in the temporary folder that its environment names."""
    named = variable(env, "TEMP")
    roots = [root.path for root in policy.writable_roots]
    return not named or not lies_in_any(os.path.realpath(named), roots)


class RunFolder:
    """A folder that goes away with its command or, shared by commands, with the session."""

    def __init__(self, parent: Path) -> None:
        """Make it below a folder of Ferrule's own, where no command may write."""
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="run-", dir=parent))

    def file(self, name: str) -> str:
        """Name a file in it."""
        return os.path.join(self.path, name)

    def temporary(self) -> str:
        """Make room for temporary files in it, once."""
        folder = self.file("temporary")
        os.makedirs(folder, exist_ok=True)
        return folder

    def remove(self) -> None:
        """Remove it with all that a command left in it."""
        shutil.rmtree(self.path, ignore_errors=True)
