"""Bytes both ways between a command and a host, each direction ending on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ferrule_network.connection import BULK, Connection, Traffic

if TYPE_CHECKING:
    from anyio.abc import ByteStream

    from ferrule_network.credentials import Credential
    from ferrule_network.gate import Way
    from ferrule_network.host_stream import HostStream
    from ferrule_network.rule import Target


async def tunnel(
    connection: Connection, way: Way, target: Target, credential: Credential, early: bytes
) -> None:
    """Join a command and a host until both have ended, or one is gone, or nothing moves.

    Args:
        connection: The command's side.
        way: The host's side.
        target: What it is, for the record.
        credential: Whose it is.
        early: What the command sent before the tunnel was there.
    """
    traffic = Traffic()
    connection.keep_going()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_upwards, connection, way.stream, traffic, early, group.cancel_scope)
            await _downwards(connection, way.stream, traffic, group.cancel_scope)
    finally:
        connection.closed(target, credential, way, traffic)


async def _upwards(
    connection: Connection,
    host: HostStream,
    traffic: Traffic,
    early: bytes,
    scope: anyio.CancelScope,
) -> None:
    try:
        data = early or await connection.receive()
        while True:
            await host.send(data)
            traffic.sent += len(data)
            connection.keep_going()
            data = await connection.receive()
    except anyio.EndOfStream:
        await _end(host, scope)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        scope.cancel()


async def _downwards(
    connection: Connection, host: HostStream, traffic: Traffic, scope: anyio.CancelScope
) -> None:
    def moved(count: int) -> None:
        traffic.received += count
        connection.keep_going()

    try:
        while traffic.received < BULK:
            data = await host.receive()
            await connection.stream.send(data)
            moved(len(data))
        await host.pour(connection.stream, None, moved)
        while True:
            data = await host.receive()
            await connection.stream.send(data)
            moved(len(data))
    except anyio.EndOfStream:
        await _end(connection.stream, scope)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        scope.cancel()


async def _end(stream: ByteStream, scope: anyio.CancelScope) -> None:
    try:
        await stream.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        scope.cancel()
