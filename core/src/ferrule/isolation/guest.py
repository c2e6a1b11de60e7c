"""The process of one distribution's tools in one session: started, described, started again.

It begins when the session is opened, as the model must be told of its tools. Where it ends by
itself it is started again with the next call, a few times.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule.attempt import BoundSandbox
from ferrule.isolation.boundary import HostsOnly, boundary_of, local_backend, sandbox_names
from ferrule.isolation.codec import items, plain, table
from ferrule.isolation.connection import Connection, Request
from ferrule.isolation.desk import Desk
from ferrule.plugin_python import python_command, search_path
from ferrule.runtime import LocalRuntime
from ferrule_hookspecs.errors import PluginError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.isolation.boundary import Boundary
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import Process

_STARTS: Final = 4
_OPENING_S: Final = 30.0
_CLOSING_S: Final = 5.0
_BOOT: Final = """
import json, sys
sys.path[:] = json.loads(sys.argv.pop())
from ferrule.isolation.child import main
main()
"""
_PARTS: Final = ("cwd", "thread_id", "project_root", "is_trusted", "role")

Wanted = tuple["Entry", "Mapping[str, object]"]


class _NeverRanError(PluginError):
    """Nothing was heard of the process: there is no such interpreter in its sandbox."""


class Guest:
    """One distribution's tools of one session."""

    def __init__(
        self,
        manager: PluginManager,
        context: PluginContext,
        wanted: Sequence[Wanted],
        report: Callable[[str], None],
    ) -> None:
        """Start nothing yet.

        Args:
            manager: Makes the sandbox.
            context: The session's.
            wanted: Entries of one distribution, each with the settings of its tool.
            report: Told what the sandbox leaves open.
        """
        self._manager = manager
        self._wanted = list(wanted)
        self._report = report
        self._entry = wanted[0][0]
        self._context = context
        self._connection: Connection | None = None
        self._starts = 0
        self._is_closed = False
        self._starting = anyio.Lock()  # one task starts it; the others take what it started
        self._names = {entry.name for entry, _ in wanted}
        self._closes: list[Callable[[], Awaitable[None]]] = []

    @property
    def is_running(self) -> bool:
        """Whether there is a process that can be asked."""
        connection = self._connection
        return connection is not None and not connection.ended.is_set() and not connection.fault

    async def open(self) -> Sequence[Mapping[str, object]]:
        """Start the process and have each tool made there; returns what each said, in order.

        Raises:
            FerruleError: It cannot be confined, or not be started.
        """
        if self._is_closed:
            raise PluginError("its process has ended with the session, or was replaced")
        if self._starts >= _STARTS:
            raise PluginError(
                f"the process of {self._entry.distribution} ended {_STARTS} times in this session,"
                f" and is not started again; {self._entry.mend}"
            )
        self._starts += 1
        boundary = boundary_of(self._entry, self._context)
        for sentence in boundary.kept:
            self._report(f"{self._entry.label}: {sentence}")
        *others, last = sandbox_names(self._context)
        for name in others:
            with suppress(SandboxUnavailableError, _NeverRanError):
                return await self._opened(name, boundary)
        return await self._opened(last, boundary)

    async def _opened(self, sandbox: str, boundary: Boundary) -> Sequence[Mapping[str, object]]:
        """Start the process in a sandbox.

        Raises:
            SandboxUnavailableError: That sandbox cannot confine it.
            _NeverRanError: The interpreter does not start in there.
            FerruleError: It was started, and failed.
        """
        await self._close_sandbox()
        process = await self._started(sandbox, boundary)
        connection = self._connection = Connection(process, Desk(self._context))
        self._runtime.start(connection.serve, f"the tools of {self._entry.distribution}")
        if self._is_closed:  # while this one was being started
            connection.fail("the session ends")
            await self._close_sandbox()
        tools = [
            {
                "name": entry.name,
                "target": entry.target,
                "roots": list(entry.roots),
                "import_path": entry.import_path,
                "settings": plain(settings),
            }
            for entry, settings in self._wanted
        ]
        opening = {"tools": tools, "context": self._told()}
        try:
            found = await connection.request(Request("", "open", opening, limit_s=_OPENING_S))
        except PluginError as error:
            if connection.has_spoken:
                raise
            raise _NeverRanError(f"in the sandbox {sandbox}, {error}") from error
        return [table(one) for one in items(found)]

    async def ask(self, request: Request) -> object:
        """Have a tool do something; the process is started again where it ended.

        Raises:
            FerruleError: It failed, or what the tool may raise.
        """
        async with self._starting:
            if not self.is_running:
                await self.open()
        return await cast("Connection", self._connection).request(request)

    async def keep(self, names: set[str]) -> None:
        """Go on for these tools only; without any the process ends."""
        self._names &= names
        if not self._names:
            await self.close()

    async def release(self, name: str) -> None:
        """End the process once none of its tools is used any more."""
        await self.keep(self._names - {name})

    async def close(self) -> None:
        """End the process and its sandbox."""
        self._is_closed = True
        try:
            if self._connection is not None:
                await self._connection.close()
        finally:  # also where whoever closes it was cancelled
            with anyio.move_on_after(_CLOSING_S, shield=True):
                await self._close_sandbox()

    @property
    def _runtime(self) -> LocalRuntime:
        if not isinstance(self._context.runtime, LocalRuntime):
            raise PluginError("tools in a process of their own need a running kernel")
        return self._context.runtime

    async def _started(self, sandbox: str, boundary: Boundary) -> Process:
        backend = local_backend(self._manager, sandbox, self._context, boundary.policy)
        self._closes.append(backend.aclose)
        way_out = None
        if boundary.hosts:
            way_out = HostsOnly(self._manager, self._context, boundary.hosts)
            self._closes.append(way_out.aclose)
        owner = self._runtime.owner
        confined = BoundSandbox(backend, boundary.policy, owner, way_out)
        confined.origin = None if way_out is None else way_out.origin
        return await confined.spawn(_command(boundary))

    async def _close_sandbox(self) -> None:
        closes, self._closes = self._closes[::-1], []
        for close in closes:
            await close()

    def _told(self) -> Mapping[str, object]:
        """What the tools may know of the session."""
        context = self._context
        facts = {key: getattr(context, key) for key in _PARTS}
        return {**facts, "home": str(context.home), "admin": str(context.admin)}


def _command(boundary: Boundary) -> Command:
    words = (*python_command(_BOOT), json.dumps(search_path()))
    return Command(
        words, boundary.policy.cwd, boundary.environment, open_stdin=True, separate_stderr=True
    )
