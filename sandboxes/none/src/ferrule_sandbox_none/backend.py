"""The slot driver `none` of `ferrule.sandboxes`: runs commands as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import PolicyUnenforceableError
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
        return Launch(argv=("/usr/bin/env", "--", *command.argv), env=command.env, cwd=command.cwd)

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """None: nothing is ever denied."""
        return None

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """Hold nothing."""
