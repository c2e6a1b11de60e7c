"""The slot driver `none` of `ferrule.sandboxes`: runs commands as they are."""

from __future__ import annotations

import os
from shutil import which
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Capabilities, Launch

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )

_MISSING: Final = 'printf "%s: %s\\n" "$1" "$2" >&2; exit "$3"'
_DEFAULT_PATH: Final = "/bin:/usr/bin"


class NoneBackend:
    """Confines nothing; satisfies `SandboxBackend`."""

    name = "none"

    def __init__(self, context: PluginContext) -> None:
        """Need nothing of the context."""

    def probe(self) -> Capabilities:
        """Say that nothing is enforced."""
        return Capabilities(
            available=True,
            reason="NO SANDBOX: commands run with all your rights; nothing is confined",
        )

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Launch a command as it is.

        Raises:
            PolicyUnenforceableError: The policy confines something.
        """
        if not policy.unconfined:
            raise PolicyUnenforceableError(
                f"the sandbox backend 'none' cannot enforce {policy.mode}; install a sandbox, as"
                " in `apt install bubblewrap`, or ask for danger-full-access"
            )
        if not os.path.isdir(command.cwd):
            raise SandboxUnavailableError(f"the working directory {command.cwd} does not exist")
        return Launch(argv=_runnable(command), env=command.env, cwd=command.cwd)

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """None: nothing is ever denied."""
        return None

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """Hold nothing."""


def _runnable(command: Command) -> tuple[str, ...]:
    """Find the program as a shell would; a failure becomes a shell's answer to it."""
    name = command.argv[0] if command.argv else ""
    if "/" in name:
        path = os.path.join(command.cwd, name)
        found = path if os.access(path, os.X_OK) and not os.path.isdir(path) else None
        exists = os.path.lexists(path)
    else:
        found = which(name, path=command.env.get("PATH", _DEFAULT_PATH)) if name else None
        exists = False
    if found is not None:
        return (os.path.join(command.cwd, found), *command.argv[1:])
    reason, code = ("permission denied", "126") if exists else ("command not found", "127")
    return ("/bin/sh", "-c", _MISSING, "sh", name, reason, code)
