"""The runtime as a stranger's plugin has it: of the configuration it changes its own table only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule.config.provenance import key_path
from ferrule.config.tables import join_key
from ferrule.runtime import LocalRuntime
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ferrule.config.tables import KeyPath
    from ferrule_hookspecs.host import ConfigEdit
    from ferrule_hookspecs.plugins import Runtime
    from ferrule_hookspecs.sandbox import Launch
    from ferrule_hookspecs.tools import Process


class Hold(NamedTuple):
    """What of the configuration a plugin may change.

    Attributes:
        owner: Its distribution with the version.
        table: Its own table; None where it declares no settings.
    """

    owner: str
    table: KeyPath | None

    def check(self, edits: Sequence[ConfigEdit]) -> None:
        """Look at edits before any of them is made.

        Raises:
            ConfigError: One of them is about something else than the plugin's table.
        """
        for edit in edits:
            path = key_path(edit.key)
            if self.table is None:
                raise ConfigError(
                    f"{self.owner} may not change `{join_key(path)}`: it declares no settings of"
                    " its own (entry points of the group ferrule.settings)"
                )
            if path[: len(self.table)] != self.table:
                raise ConfigError(
                    f"{self.owner} may not change `{join_key(path)}`: of the configuration only"
                    f" its own table `{join_key(self.table)}` is open to it"
                )


class HeldRuntime:
    """Passes on what is asked for; satisfies the contract's `Runtime`."""

    def __init__(self, runtime: Runtime, hold: Hold) -> None:
        self._runtime = runtime
        self._hold = hold

    async def spawn(self, launch: Launch, *, open_stdin: bool = False) -> Process:
        """Start a program that ends with the kernel at the latest."""
        return await self._runtime.spawn(launch, open_stdin=open_stdin)

    def start(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        """Run something in the background until it ends."""
        self._runtime.start(function, name)

    def write_config(self, edits: Sequence[ConfigEdit]) -> None:
        """Change the plugin's own table in the user's configuration file.

        Raises:
            ConfigError: One of the edits is about something else; none is made.
        """
        self._hold.check(edits)
        self._runtime.write_config(edits)


def held_runtime(runtime: Runtime, hold: Hold) -> Runtime:
    """Return a runtime as a plugin has it: always the same one, as plugins keep things by it."""
    if not isinstance(runtime, LocalRuntime):
        return HeldRuntime(runtime, hold)
    return runtime.held.setdefault(hold, HeldRuntime(runtime, hold))
