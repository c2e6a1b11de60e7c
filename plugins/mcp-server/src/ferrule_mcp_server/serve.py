"""Runs the server where the command line says."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import FerruleError, InterruptedByUserError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.serving import Endpoint
from ferrule_mcp_server.arguments import STDIO

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Host, Kernel
    from ferrule_mcp_server.arguments import Options


def serve(options: Options, host: Host) -> int:
    """Serve until the client is gone, or a signal comes; returns the exit code."""
    request = ConfigRequest(
        cwd=os.path.abspath(options.cwd or os.getcwd()),
        profile=options.profile,
        overrides=options.overrides,
    )

    async def main(kernel: Kernel) -> int:
        try:
            await _serve(kernel, request, options, host.version)
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        return 0

    try:
        host.config(request)  # what is wrong with it is told before anybody connects
        return host.run(main)
    except InterruptedByUserError as error:
        return 128 + error.signal if error.signal == signal.SIGINT else 0
    except FerruleError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


async def _serve(kernel: Kernel, request: ConfigRequest, options: Options, version: str) -> None:
    from ferrule_mcp_server.server import serving

    config = kernel.config(request)
    async with serving(kernel, request, version) as server:
        if options.url == STDIO:
            transport = kernel.transport(config, "stdio")
            await transport.serve(server, Endpoint(STDIO), _announce)
        else:
            from ferrule_mcp_server.http_door import serve_http

            await serve_http(server, config, options, _announce)


def _announce(url: str) -> None:
    if url != STDIO:
        sys.stderr.write(f"ferrule mcp-server\n  listening on: {url}\n")
        sys.stderr.flush()


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what went wrong first: one sentence for the user, rather than a tree."""
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
