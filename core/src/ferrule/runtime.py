"""What plugins may keep running for as long as the kernel. Satisfies the contract's `Runtime`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.containment import contained
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ferrule.held_runtime import Hold
    from ferrule.kernel import LocalKernel
    from ferrule.processes import ProcessOwner
    from ferrule_hookspecs.host import ConfigEdit
    from ferrule_hookspecs.plugins import Runtime
    from ferrule_hookspecs.sandbox import Launch
    from ferrule_hookspecs.tools import Process


class LocalRuntime:
    """The programs and background work of one kernel's plugins.

    Attributes:
        held: The same, as each plugin that is held to its own table has it.
    """

    def __init__(self, kernel: LocalKernel, report: Callable[[str], None]) -> None:
        self.held: dict[Hold, Runtime] = {}
        self._kernel = kernel
        self._report = report

    @property
    def owner(self) -> ProcessOwner:
        """Who answers for the end of what is started."""
        return self._kernel.owner

    async def spawn(self, launch: Launch, *, open_stdin: bool = False) -> Process:
        """Start a program that ends with the kernel at the latest, however that ends."""
        return await self._kernel.owner.spawn(launch, open_stdin=open_stdin, separate_stderr=True)

    def start(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        """Run something in the background until it ends; it is cancelled with the kernel."""
        self._kernel.group.start_soon(self._run, function, name, name=name)

    def write_config(self, edits: Sequence[ConfigEdit]) -> None:
        """Change the user's configuration file: all edits or none."""
        self._kernel.write_config(ConfigRequest(cwd=str(self._kernel.home)), edits)

    async def _run(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        try:
            with contained(name):
                await function()
        except FerruleError as error:
            self._report(str(error))
