"""The proxy: listens where it is told, gives every connection its bounds and its protocol."""

from __future__ import annotations

import logging
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import SocketListener

from ferrule_network.connection import Connection, GoneError
from ferrule_network.credentials import Credential, Credentials
from ferrule_network.socks import VERSION, serve_socks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from anyio.abc import ByteStream, Listener, SocketStream, TaskGroup

    from ferrule_network.gate import Gate

_log: Final = logging.getLogger(__name__)
_LOST: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, GoneError, OSError)
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_PAUSE_S: Final = 0.05


class Proxy:
    """The way out for commands, as an asynchronous context; it ends with everything it serves.

    ```python
    async with Proxy(Gate(settings, audit)) as proxy:
        port = await proxy.listen_tcp()
        with proxy.admit("call-1") as credential:
            environment = {"HTTPS_PROXY": credential.url("http", f"127.0.0.1:{port}")}
    ```
    """

    def __init__(self, gate: Gate) -> None:
        """Take the way to hosts, with the policy in it."""
        self._gate = gate
        self._credentials = Credentials()
        self._open = 0
        self._group: TaskGroup = anyio.create_task_group()
        self._listeners: list[Listener[SocketStream]] = []

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._group.cancel_scope.cancel()
        try:
            return await self._group.__aexit__(kind, error, traceback)
        finally:
            with anyio.CancelScope(shield=True):
                for listener in self._listeners:
                    await listener.aclose()

    @contextmanager
    def admit(self, command: str) -> Iterator[Credential]:
        """Let a command use the proxy for a while; its connections end with the block."""
        credential = self.issue(command)
        try:
            yield credential
        finally:
            self.revoke(credential)

    def issue(self, command: str) -> Credential:
        """Let a command use the proxy until its credential is revoked."""
        return self._credentials.issue(command)

    def revoke(self, credential: Credential) -> None:
        """End a command's use of the proxy with all its connections."""
        self._credentials.revoke(credential)

    def serve(self, link: socket.socket, credential: Credential) -> None:
        """Take over a listening socket that one command alone can reach; ends with its credential.

        Whoever connects is that command, whatever it shows.
        """
        if credential.is_over:
            link.close()
        else:
            self._group.start_soon(self._listen_for, link, credential)

    async def listen_tcp(self, port: int = 0) -> int:
        """Listen on 127.0.0.1 and return the port."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
        self._start(listener)  # pyright: ignore[reportArgumentType]
        return int(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610 - no Django

    async def listen_unix(self, path: str) -> None:
        """Listen on a socket of which only this user may make use; its folder should be private."""
        listener = await anyio.create_unix_listener(path, mode=0o600)
        self._start(listener)  # pyright: ignore[reportArgumentType]

    async def _listen_for(self, link: socket.socket, credential: Credential) -> None:
        with anyio.CancelScope() as scope:
            credential.connections.add(scope)
            if credential.is_over:
                scope.cancel()
            try:
                listener = await SocketListener.from_socket(link)
                await self._accept(listener, credential)
            finally:
                link.close()

    def _start(self, listener: Listener[SocketStream]) -> None:
        self._listeners.append(listener)
        for one in getattr(listener, "listeners", [listener]):
            self._group.start_soon(self._accept, one)

    async def _accept(self, listener: SocketListener, owner: Credential | None = None) -> None:
        """Take connections; where the system has no descriptor left, wait until one is free."""
        while True:
            try:
                stream = await listener.accept()
            except (anyio.BrokenResourceError, OSError) as error:
                _log.warning("the proxy could not take a connection: %s", error)
                await anyio.sleep(_PAUSE_S)
                continue
            self._group.start_soon(self._serve, stream, owner)

    async def _serve(self, stream: ByteStream, owner: Credential | None) -> None:
        """Serve one connection; whatever is wrong with it ends it and nothing else."""
        self._open += 1
        connection: Connection | None = None
        try:
            with anyio.CancelScope() as scope:
                connection = Connection(stream, self._gate, self._credentials, scope, owner=owner)
                if self._open > self._gate.limits.connections or not self._has_room(connection):
                    await stream.send(_FULL)
                else:
                    await self._speak(connection)
        except _LOST:
            return  # the command or the host is gone
        except anyio.EndOfStream:
            return
        except Exception:  # noqa: BLE001 - a fault in serving one command must not end the others
            _log.exception("the proxy failed to serve a connection, which was closed")
        finally:
            self._open -= 1
            if connection is not None:
                connection.release()
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(stream)

    def _has_room(self, connection: Connection) -> bool:
        """Count a connection whose owner is known from the start, as far as it may have more."""
        owner = connection.owner
        if owner is None:
            return True
        if owner.is_over or len(owner.connections) > self._gate.limits.per_command:
            return False
        connection.holders.add(owner)
        owner.connections.add(connection.scope)
        return True

    async def _speak(self, connection: Connection) -> None:
        connection.allow_time(self._gate.limits.head_s)
        first = await connection.receive()
        connection.put_back(first)
        if first[0] == VERSION:
            await serve_socks(connection)
            return
        from ferrule_network.forward import HttpConnection

        await HttpConnection(connection).serve()
