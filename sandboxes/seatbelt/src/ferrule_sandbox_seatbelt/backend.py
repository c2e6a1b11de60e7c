"""The slot driver `seatbelt` of `ferrule.sandboxes`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_confinement.program import find_program
from ferrule_confinement.scratch import has_scratch, with_scratch
from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from ferrule_sandbox_seatbelt.private_scratch import make_scratch, remove_scratch
from ferrule_sandbox_seatbelt.probe import PROGRAM, Finding, examine
from ferrule_sandbox_seatbelt.profile import make_profile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        Door,
        FileSystem,
        ResolvedPolicy,
    )

_ENFORCED: Final[frozenset[Feature]] = frozenset(
    (
        "filesystem",
        "protected_paths",
        "missing_names",
        "deny_read",
        "network",
        "unix_sockets",
        "proc_sys",
        "door",
    )
)
_MAX_BYTES: Final = 640 * 1024  # of a megabyte that the system takes, environment included
_LOADER: Final = "DYLD_"
_MARK: Final = "FERRULE_SANDBOX"


class SeatbeltBackend:
    """Confines commands with macOS Seatbelt; satisfies `SandboxBackend`."""

    name = "seatbelt"

    def __init__(self, context: PluginContext) -> None:
        """Nothing is kept of the context, and nothing is started."""
        self._finding: Finding | None = None

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        if self._finding is None:
            self._finding = examine(self)
        works, reason = self._finding
        return Capabilities(works, reason, _ENFORCED if works else frozenset())

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command.

        Raises:
            SandboxUnavailableError: Seatbelt does not work here.
            PolicyUnenforceableError: The policy asks for no confinement, or for more than a profile
                can say.
        """
        found = self.probe()
        if not found.available:
            raise SandboxUnavailableError(found.reason)
        return self.launch(policy, command)

    def launch(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Do what `prepare` does, without asking first whether it works here."""
        if policy.unconfined:
            raise PolicyUnenforceableError(
                "the seatbelt sandbox confines every command; use the sandbox backend 'none'"
                f" for {policy.mode}"
            )
        if not os.path.isdir(command.cwd):
            raise SandboxUnavailableError(f"the working directory {command.cwd} does not exist")
        failing = find_program(policy, command).failure
        if failing is not None:
            return Launch(tuple(failing), env={}, cwd="/")
        scratch = None if has_scratch(policy, command.env) else make_scratch()

        def cleanup() -> None:
            if scratch is not None:
                remove_scratch(scratch)

        try:
            argv = (*_confined_by(policy, scratch, command.door), *command.argv)
        except BaseException:
            cleanup()
            raise
        return Launch(argv, _environment(command.env, scratch), command.cwd, cleanup=cleanup)

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        from ferrule_confinement import denials

        return denials.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """None: files are local."""
        return None

    async def aclose(self) -> None:
        """Nothing is held between commands."""


def _confined_by(policy: ResolvedPolicy, scratch: str | None, door: Door | None) -> list[str]:
    """The words before a command that confine it."""
    profile = make_profile(policy, scratch, door)
    words = [PROGRAM, "-p", profile.text]
    for name, value in profile.parameters:
        words += ["-D", f"{name}={value}"]
    if sum(len(os.fsencode(word)) + 1 for word in words) > _MAX_BYTES:
        raise PolicyUnenforceableError(
            f"the sandbox seatbelt cannot name {len(profile.parameters)} places for one command;"
            " work in a smaller folder"
        )
    return [*words, "--"]


def _environment(env: Mapping[str, str], scratch: str | None) -> dict[str, str]:
    """The command's environment, without what would load a library into `sandbox-exec` itself."""
    named = env if scratch is None else with_scratch(env, scratch)
    kept = {name: value for name, value in named.items() if not name.startswith(_LOADER)}
    return {**kept, _MARK: "seatbelt"}
