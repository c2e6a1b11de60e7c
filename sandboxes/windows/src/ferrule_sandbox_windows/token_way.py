"""The second of two ways: a restricted token, a job, and entries in access lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_sandbox_windows.access_plan import make_plan
from ferrule_sandbox_windows.command_line import command_line
from ferrule_sandbox_windows.environment import confined_environment, without_network
from ferrule_sandbox_windows.holds import Names
from ferrule_sandbox_windows.identities import Identities
from ferrule_sandbox_windows.launching import launch_of
from ferrule_sandbox_windows.run_folder import RunFolder, needs_scratch
from ferrule_sandbox_windows.start_order import StartOrder, write_order

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule_hookspecs.sandbox import Command, Feature, Launch, ResolvedPolicy
    from ferrule_sandbox_windows.access_plan import AccessPlan
    from ferrule_sandbox_windows.system import System

_CLAIMS: Final[frozenset[Feature]] = frozenset(
    ("filesystem", "protected_paths", "missing_names", "resources")
)
_MAX_PROCESSES: Final = 1024


class TokenWay:
    """Confines commands by what their token may write; satisfies `Way`."""

    words = "a restricted token"
    claims = _CLAIMS

    def __init__(self, system: System, folder: Path) -> None:
        """Change nothing yet; `folder` is for journals and orders."""
        self._system = system
        self._folder = folder
        self._identities = Identities(system, folder)
        self._names = Names(system)
        self._shared: RunFolder | None = None
        self._has_begun = False

    def describe(self) -> str:
        """Tell how it works."""
        return (
            "a restricted token, a job and access lists; the network is not off but asked to be, by"
            " variables that tools may ignore, and nothing is kept from being read"
        )

    def launch(
        self, policy: ResolvedPolicy, command: Command, environ: Mapping[str, str]
    ) -> Launch:
        """Build the launch of one command."""
        order = StartOrder(command_line(command.argv), command.cwd, {}, "")
        self._begin()
        scratch = self._scratch(policy, command.env)
        env = confined_environment(command.env, scratch)
        plan = make_plan(policy, scratch, self._names.missing(policy))
        self._check_drives(plan)
        held = self._names.hold(policy)
        try:
            folder = RunFolder(self._folder)
            held.callback(folder.remove)
            told = folder.file("order.json")
            order = order._replace(
                env=env if policy.network else without_network(env),
                sid=self._identities.identity_for(plan),
                max_processes=policy.max_processes or _MAX_PROCESSES,
                max_memory_bytes=policy.max_memory_bytes,
            )
            write_order(told, order)
        except BaseException:
            held.close()
            raise
        return launch_of(told, environ=environ, cleanup=held.close)

    def close(self) -> None:
        """Take all entries back."""
        try:
            self._identities.take_back()
        finally:
            if self._shared is not None:
                self._shared.remove()
                self._shared = None

    def _begin(self) -> None:
        """Mend, before the first command, what a killed session left behind."""
        if not self._has_begun:
            self._has_begun = True
            self._identities.mend()

    def _scratch(self, policy: ResolvedPolicy, env: Mapping[str, str]) -> str | None:
        """One temporary folder for all commands, so that they share an identity."""
        if not needs_scratch(policy, env):
            return None
        if self._shared is None:
            self._shared = RunFolder(self._folder)
        return self._shared.temporary()

    def _check_drives(self, plan: AccessPlan) -> None:
        for entry in (*plan.grants, *plan.refusals):
            if not self._system.has_access_lists(entry.path):
                raise PolicyUnenforceableError(
                    f"{entry.path} lies on a drive without access lists (FAT or exFAT), where"
                    " anything may be written; work on a drive with NTFS"
                )
