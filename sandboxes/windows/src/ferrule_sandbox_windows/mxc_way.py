"""The first of two ways: a container made by MXC."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.sandbox import Launch
from ferrule_sandbox_windows.environment import confined_environment
from ferrule_sandbox_windows.holds import Names
from ferrule_sandbox_windows.mxc_configuration import Surroundings, as_text, make_configuration
from ferrule_sandbox_windows.run_folder import RunFolder, needs_scratch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule_hookspecs.sandbox import Command, Feature, ResolvedPolicy
    from ferrule_sandbox_windows.mxc_program import MxcFacts
    from ferrule_sandbox_windows.system import System

_OWN_VARIABLES: Final = ("SYSTEMROOT", "SYSTEMDRIVE", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP")


class MxcWay:
    """Confines commands in containers of MXC; satisfies `Way`."""

    words = "MXC"

    def __init__(self, system: System, program: str, facts: MxcFacts, folder: Path) -> None:
        """Keep what was found; `folder` is where configurations are written."""
        self._system = system
        self._program = program
        self._facts = facts
        self._folder = folder
        self._names = Names(system)

    @property
    def claims(self) -> frozenset[Feature]:
        """What it may enforce, where a trial does not show otherwise."""
        claims: set[Feature] = {
            *("filesystem", "protected_paths", "missing_names", "network", "readable_roots")
        }
        if self._facts.hides_paths:
            claims.add("deny_read")
        return frozenset(claims)

    def describe(self) -> str:
        """Tell how it works, and what it warns of."""
        told = "; ".join(self._facts.warnings)
        warnings = f" (it warns: {told})" if told else ""
        return f"{self._program}, by {self._facts.tier}{warnings}"

    def launch(
        self, policy: ResolvedPolicy, command: Command, environ: Mapping[str, str]
    ) -> Launch:
        """Build the launch of one command."""
        held = self._names.hold(policy)
        try:
            folder = RunFolder(self._folder)
            held.callback(folder.remove)
            scratch = folder.temporary() if needs_scratch(policy, command.env) else None
            confined = command._replace(env=confined_environment(command.env, scratch))
            around = Surroundings(
                os.path.basename(folder.path),
                () if policy.readable_roots is not None else self._system.drives(),
                scratch,
                self._facts.hides_paths,
            )
            told = folder.file("container.json")
            with open(told, "xb") as file:
                file.write(as_text(make_configuration(policy, confined, around)))
        except BaseException:
            held.close()
            raise
        own = {name: value for name, value in environ.items() if name.upper() in _OWN_VARIABLES}
        return Launch(
            (self._program, told), own, os.path.dirname(self._program), cleanup=held.close
        )

    def close(self) -> None:
        """Nothing is held between commands."""
