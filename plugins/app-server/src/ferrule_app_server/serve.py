"""Runs the server on the transports that the command line names."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_app_server.arguments import STDIO
from ferrule_hookspecs.errors import FerruleError, InterruptedByUserError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import Endpoint

if TYPE_CHECKING:
    from ferrule_app_server.arguments import Options
    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_hookspecs.serving import Transport

_WEBSOCKET: Final = ("ws", "wss")


def serve(options: Options, host: Host) -> int:
    """Serve until all transports are done; returns the exit code."""
    request = request_of(options)
    host.config(request)  # what is wrong with it is told before anybody connects

    async def main(kernel: Kernel) -> int:
        try:
            await _serve(kernel, request, options)
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            _close_ears()
        return 0

    try:
        return host.run(main)
    except InterruptedByUserError as error:
        return 128 + error.signal if error.signal == signal.SIGINT else 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what went wrong first: one sentence for the user, rather than a tree."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def request_of(options: Options) -> ConfigRequest:
    """Return how the server reads configurations where a client says nothing else."""
    return ConfigRequest(
        cwd=os.path.abspath(options.cwd or os.getcwd()),
        profile=options.profile,
        overrides=options.overrides,
    )


def _close_ears() -> None:
    """All is closed: who sends SIGTERM from now on still sees exit status 0.

    The loop would have it end the process again when it takes its handlers down. Blocking it would
    not do, since other threads may still run that would get it.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    loop = asyncio.get_running_loop()
    take_down = loop.remove_signal_handler

    def leave_ignored(sig: int) -> bool:
        if sig != signal.SIGTERM:
            return take_down(sig)
        signal.set_wakeup_fd(-1)  # which else is done when the last handler is taken down
        return True

    loop.remove_signal_handler = leave_ignored


async def _serve(kernel: Kernel, request: ConfigRequest, options: Options) -> None:
    config = kernel.config(request)
    transports = {url: kernel.transport(config, _transport_name(url)) for url in options.listen}
    driver = kernel.server(config, "app-server")
    async with driver.open(kernel, request) as opened, anyio.create_task_group() as group:
        server = cast("AppServer", opened)
        scope = anyio.CancelScope(shield=True)
        done = anyio.Event()
        group.start_soon(_carry, server, transports, options, scope, done)
        try:
            await done.wait()
        finally:  # clients hear how their turns end before they are cut off
            await server.drain()
            scope.cancel()


async def _carry(
    server: AppServer,
    transports: dict[str, Transport],
    options: Options,
    scope: anyio.CancelScope,
    done: anyio.Event,
) -> None:
    """Serve on every transport; the last one that ends, or the first that fails, ends it."""
    try:
        with scope:
            async with anyio.create_task_group() as group:
                for url, transport in transports.items():
                    endpoint = Endpoint(url, options.transport)
                    group.start_soon(transport.serve, server, endpoint, _announce)
    finally:
        done.set()


def _announce(url: str) -> None:
    if url != STDIO:
        sys.stderr.write(f"ferrule app-server\n  listening on: {url}\n")
        sys.stderr.flush()


def _transport_name(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise FerruleError(
            f"--listen {url!r} is no URL; write stdio://, unix://PATH or ws://HOST:PORT"
        )
    return "websocket" if scheme in _WEBSOCKET else scheme
