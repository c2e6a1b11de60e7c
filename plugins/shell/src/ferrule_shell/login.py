"""What a login shell would add to the environment, found out once for sessions that are alike.

A login shell costs 50 to 150 ms, a plain one 1 ms; so the profile is read once, in the background,
and every command gets its effect without its cost. Sessions of one process share what was found
within a minute: a server opens hundreds of them.
"""

from __future__ import annotations

import asyncio
import os
import time
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
_SHARED_S: Final = 60.0
_OF_THE_THREAD: Final = frozenset({"FERRULE_THREAD_ID", "CODEX_THREAD_ID"})


class _Finding:
    """What a profile sets, once that is known; None where finding out was given up."""

    def __init__(self) -> None:
        self.changes: Mapping[str, str] | None = None
        self.done = anyio.Event()
        self.since = time.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Whether a session that opens now may rely on it."""
        is_recent = time.monotonic() - self.since < _SHARED_S
        return is_recent and not (self.done.is_set() and self.changes is None)


_shared: dict[tuple[object, ...], _Finding] = {}


class LoginEnvironment:
    """Variables that the user's profile sets, by shell."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._own: dict[str, _Finding] = {}

    def prepare(self, shell: str, context: ToolContext) -> None:
        """Start finding out, unless that was done."""
        if shell in self._own:
            return
        plain = context.environment()
        key = _kind(shell, plain, context)
        finding = _shared.get(key)
        if finding is None or not finding.is_fresh:
            _drop_stale()
            finding = _shared[key] = _Finding()
            self._background.start(_find_out(finding, shell, plain, context))
        self._own[shell] = finding

    async def changes(self, shell: str, context: ToolContext) -> Mapping[str, str]:
        """Await what the profile sets; nothing where it fails or takes too long."""
        self.prepare(shell, context)
        await self._own[shell].done.wait()
        if self._own[shell].changes is None:  # the session that was finding out has ended
            del self._own[shell]
            return await self.changes(shell, context)
        return self._own[shell].changes or {}


def _kind(shell: str, plain: Mapping[str, str], context: ToolContext) -> tuple[object, ...]:
    """What the answer depends on."""
    variables = frozenset(pair for pair in plain.items() if pair[0] not in _OF_THE_THREAD)
    policy = context.sandbox.policy
    where = (policy.mode, policy.unconfined, policy.network, policy.deny_read)
    # Bound to the loop as well: an event of another one cannot be awaited.
    return (shell, variables, *where, id(asyncio.get_running_loop()))


def _drop_stale() -> None:
    for key in [key for key, finding in _shared.items() if not finding.is_fresh]:
        del _shared[key]


async def _find_out(
    finding: _Finding, shell: str, plain: Mapping[str, str], context: ToolContext
) -> None:
    try:
        if os.path.basename(shell) in _SHELLS:
            with anyio.move_on_after(_SECONDS):
                finding.changes = await _profile_changes(shell, plain, context)
        finding.changes = finding.changes or {}
    except (FerruleError, OSError):
        # The command itself meets the same obstacle, and is where the user is told about it.
        finding.changes = {}
    finally:
        finding.done.set()


async def _profile_changes(
    shell: str, plain: Mapping[str, str], context: ToolContext
) -> Mapping[str, str]:
    mark = os.urandom(8).hex()  # what the profile prints stands before it
    script = f"printf '%s\\0' {mark}; env -0"
    command = Command((shell, "-lc", script), context.cwd, dict(plain))
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
