"""What plugins may keep running for as long as the kernel. Satisfies the contract's `Runtime`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule.containment import contained
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from ferrule.processes import ProcessOwner
    from ferrule_hookspecs.sandbox import Launch
    from ferrule_hookspecs.tools import Process


class LocalRuntime:
    """The programs and background work of one kernel's plugins."""

    def __init__(
        self, group: TaskGroup, owner: ProcessOwner, report: Callable[[str], None]
    ) -> None:
        self._group = group
        self._owner = owner
        self._report = report

    async def spawn(self, launch: Launch, *, open_stdin: bool = False) -> Process:
        """Start a program that ends with the kernel at the latest, however that ends."""
        return await self._owner.spawn(launch, open_stdin=open_stdin)

    def start(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        """Run something in the background until it ends; it is cancelled with the kernel."""
        self._group.start_soon(self._run, function, name, name=name)

    async def _run(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        try:
            with contained(name):
                await function()
        except FerruleError as error:
            self._report(str(error))
