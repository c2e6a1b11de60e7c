"""Speaks with a server that runs here, over its input and output, one message a line.

Not the transport of the SDK: the kernel owns the process, so that it ends with the kernel however
that ends, and a line is bounded.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.sandbox import Launch
from ferrule_mcp.programs import program_of
from ferrule_mcp.server_environment import server_environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from mcp.client._transport import TransportStreams

    from ferrule_hookspecs.plugins import Runtime
    from ferrule_hookspecs.tools import Process
    from ferrule_mcp.server_log import ServerLog
    from ferrule_mcp.server_settings import ServerSettings

_LINE_LIMIT: Final = 64 * 1024 * 1024
_FAREWELL_S: Final = 1.0
_SIGTERM: Final = 15


class StdioTransport:
    """The pipes of one server."""

    def __init__(self, process: Process, log: ServerLog) -> None:
        from mcp.shared.message import SessionMessage

        self._process = process
        self._log = log
        self._incoming, self.reader = anyio.create_memory_object_stream[
            "SessionMessage | Exception"
        ](0)
        self.writer, self._outgoing = anyio.create_memory_object_stream["SessionMessage"](0)
        self._wrap = SessionMessage
        self._is_over = anyio.Event()
        self._pumps: list[anyio.CancelScope] = []

    @property
    def is_over(self) -> bool:
        """Whether the server says nothing any more."""
        return self._is_over.is_set()

    async def ended(self) -> int:
        """Await the end of the server; its exit code."""
        await self._is_over.wait()
        return await self._process.wait()

    async def kept_going(self, pump: Callable[[], Awaitable[None]]) -> None:
        """Read a stream to its end, which closes it, also when everything else is cancelled."""
        with anyio.CancelScope(shield=True) as scope:
            self._pumps.append(scope)
            await pump()

    async def log_errors(self) -> None:
        """Keep what the server writes to its standard error."""
        await self._log.follow(self._process)

    async def receive(self) -> None:
        """Hand on what the server says, until it has ended."""
        async with self._incoming:
            held: list[bytes] = []
            size = 0
            while data := await self._process.read():
                *lines, rest = data.split(b"\n")
                for line in lines:
                    await self._hand_on(b"".join([*held, line]))
                    held, size = [], 0
                held.append(rest)
                size += len(rest)
                if size > _LINE_LIMIT:
                    self._log.add(b"ferrule: a line was longer than 64 MiB\n")
                    break
            self._is_over.set()
            self._process.kill()  # one that closed its output is of no use any more

    async def _hand_on(self, line: bytes) -> None:
        from mcp_types import jsonrpc_message_adapter

        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._log.add(b"ferrule: not a message: " + line[:500] + b"\n")
            return
        try:
            await self._incoming.send(self._wrap(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # nobody listens any more; the rest is read so that the server can end

    async def send(self) -> None:
        """Send what the client says; where nobody reads, the server is as good as gone."""
        try:
            async with self._outgoing:
                async for message in self._outgoing:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.write(text.encode() + b"\n")
        except (BrokenPipeError, OSError):
            self._process.kill()

    async def end(self) -> None:
        """End the server: its input ends, then it is asked to, then it is made to."""
        self.reader.close()
        self.writer.close()
        self._process.close_input()
        if not await self._has_ended_soon():
            self._process.send_signal(_SIGTERM)
            await self._has_ended_soon()
        self._process.kill()  # what it started may still be there
        for pump in self._pumps:
            pump.deadline = anyio.current_time() + _FAREWELL_S

    async def _has_ended_soon(self) -> bool:
        with anyio.move_on_after(_FAREWELL_S) as scope:
            await self._process.wait()
        return not scope.cancelled_caught


@asynccontextmanager
async def stdio_transport(
    settings: ServerSettings, environ: Mapping[str, str], runtime: Runtime, log: ServerLog
) -> AsyncGenerator[tuple[TransportStreams, StdioTransport]]:
    """Start the server and speak with it; it has ended when the block is left.

    Raises:
        FerruleError: It cannot be started.
    """
    process = await _start(settings, environ, runtime)
    transport = StdioTransport(process, log)
    async with anyio.create_task_group() as group:
        for pump in (transport.receive, transport.log_errors):
            group.start_soon(transport.kept_going, pump)
        group.start_soon(transport.send)
        try:
            yield (transport.reader, transport.writer), transport
        finally:
            with anyio.CancelScope(shield=True):
                await transport.end()
            group.cancel_scope.cancel()


async def _start(settings: ServerSettings, environ: Mapping[str, str], runtime: Runtime) -> Process:
    env = server_environment(settings, environ)
    program = program_of(settings, env)
    if program is None:
        raise FerruleError(f"there is no program {settings.command!r} in PATH")
    launch = Launch((program, *settings.args), env, settings.cwd)
    try:
        return await runtime.spawn(launch, open_stdin=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FerruleError(
            f"{settings.command!r} cannot be started in {settings.cwd}: {reason}"
        ) from None
