"""What a login shell would add to the environment, found out once per shell and session.

A login shell costs 50 to 150 ms, a plain one 1 ms; so the profile is read once, in the background,
and every command gets its effect without its cost.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.sandbox import Command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.tools import ToolContext
    from ferrule_shell.background import Background

_SECONDS: Final = 5.0
_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
# What describes the capturing shell itself rather than the user's wishes.
_OWN: Final = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_MAX_BYTES: Final = 4 * 1024 * 1024


class LoginEnvironment:
    """Variables that the user's profile sets, by shell."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._changes: dict[str, Mapping[str, str]] = {}
        self._known: dict[str, anyio.Event] = {}

    def prepare(self, shell: str, context: ToolContext) -> None:
        """Start finding out, unless that was done."""
        if shell not in self._known:
            self._known[shell] = anyio.Event()
            self._background.start(self._find_out(shell, context))

    async def changes(self, shell: str, context: ToolContext) -> Mapping[str, str]:
        """Await what the profile sets; nothing where it fails or takes too long."""
        self.prepare(shell, context)
        await self._known[shell].wait()
        return self._changes.get(shell, {})

    async def _find_out(self, shell: str, context: ToolContext) -> None:
        try:
            if os.path.basename(shell) in _SHELLS:
                with anyio.move_on_after(_SECONDS):
                    self._changes[shell] = await _profile_changes(shell, context)
        except (FerruleError, OSError):
            # The command itself meets the same obstacle, and is where the user is told about it.
            self._changes[shell] = {}
        finally:
            self._known[shell].set()


async def _profile_changes(shell: str, context: ToolContext) -> Mapping[str, str]:
    plain = context.environment()
    mark = os.urandom(8).hex()  # what the profile prints stands before it
    script = f"printf '%s\\0' {mark}; env -0"
    command = Command((shell, "-lc", script), context.cwd, plain)
    process = await context.sandbox.spawn(command)
    output = bytearray()
    try:
        while (data := await process.read()) and len(output) < _MAX_BYTES:
            output += data
    except BaseException:
        process.kill()
        raise
    _, _, variables = bytes(output).partition(f"{mark}\0".encode())
    login = dict(
        os.fsdecode(variable).split("=", 1)
        for variable in variables.split(b"\0")
        if b"=" in variable
    )
    return {
        name: value
        for name, value in login.items()
        if name not in _OWN and plain.get(name) != value
    }
