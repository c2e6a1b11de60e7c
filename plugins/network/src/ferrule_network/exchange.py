"""One request to a host and its answer, each body streamed while the other may still run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import h11

from ferrule_network.connection import BULK, Connection, Traffic

if TYPE_CHECKING:
    from ferrule_network.host_stream import HostStream
    from ferrule_network.interceptor import SecuredHost
    from ferrule_network.request_target import ProxyRequest

_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_WEB_PORTS: Final = {"http": 80, "https": 443}
_LOST: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
Headers = list[tuple[bytes, bytes]]


class Exchange:
    """A request and its answer.

    Attributes:
        traffic: Bytes of the bodies and heads that went to the host and came from it.
        is_commands_fault: Whether what could not be read came from the command.
    """

    def __init__(
        self, connection: Connection, command: h11.Connection, host: HostStream | SecuredHost
    ) -> None:
        self.traffic = Traffic()
        self.is_commands_fault = False
        self._connection = connection
        self._command = command
        self._stream = host
        limit = connection.gate.limits.head_bytes
        self._host = h11.Connection(h11.CLIENT, max_incomplete_event_size=limit)

    async def run(
        self, request: h11.Request, asked: ProxyRequest, injected: Headers | None = None
    ) -> None:
        """Send the request and stream the answer back.

        Args:
            request: As the command wrote it.
            asked: What it means.
            injected: Headers of the proxy's own, in place of what the command says there.

        Raises:
            h11.RemoteProtocolError: What the host or the command sent cannot be read.
        """
        self._connection.keep_going()
        headers = _request(request, asked, injected or [])
        await self._to_host(h11.Request(method=request.method, target=asked.path, headers=headers))
        fault: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._body, group.cancel_scope)
            try:
                await self._answer(request)
            except (h11.RemoteProtocolError, *_LOST) as error:
                fault = error  # raised outside of the group, which would wrap it up
            group.cancel_scope.cancel()
        if self.is_commands_fault:
            raise h11.RemoteProtocolError("its body cannot be read")
        if fault is not None:
            raise fault

    async def _body(self, scope: anyio.CancelScope) -> None:
        """Stream the body of the request."""
        try:
            while True:
                event = self._command.next_event()
                if event is h11.NEED_DATA:
                    self._command.receive_data(await self._connection.receive())
                elif isinstance(event, h11.Data):
                    await self._to_host(h11.Data(data=event.data))
                elif isinstance(event, h11.EndOfMessage):
                    await self._to_host(h11.EndOfMessage())
                    return
                else:
                    return
        except (anyio.EndOfStream, h11.RemoteProtocolError):
            self.is_commands_fault = True
            scope.cancel()
        except _LOST:
            return  # a host may answer without reading all

    async def _answer(self, request: h11.Request) -> None:
        while True:
            event = self._host.next_event()
            if event is h11.NEED_DATA:
                await self._from_host()
            elif isinstance(event, h11.InformationalResponse):
                await self._interim(event)
            elif isinstance(event, h11.Response):
                await self._to_command(_response(event))
                if (length := _long(event)) and request.method != b"HEAD":
                    await self._long_body(length)
                    return
            elif isinstance(event, h11.Data):
                await self._to_command(h11.Data(data=event.data))
            elif isinstance(event, h11.EndOfMessage):
                await self._to_command(h11.EndOfMessage())
                return
            else:
                raise h11.RemoteProtocolError("it ended without an answer")

    async def _long_body(self, left: int) -> None:
        """Stream a body whose length is known; it needs no reading, and h11 only counts."""

        def moved(count: int) -> None:
            nonlocal left
            left -= count
            self.traffic.received += count
            self._count(count)
            self._connection.keep_going()

        first, _ = self._host.trailing_data
        first = first[:left]
        await self._connection.stream.send(first)
        left -= len(first)
        self._count(len(first))
        await self._stream.pour(self._connection.stream, left, moved)
        while left:
            try:
                data = (await self._stream.receive())[:left]
            except anyio.EndOfStream:
                raise h11.RemoteProtocolError("it broke off") from None
            await self._connection.stream.send(data)
            moved(len(data))
        await self._to_command(h11.EndOfMessage())

    def _count(self, count: int) -> None:
        if count:  # h11 takes anything that has a length for the data of a body
            self._command.send_with_data_passthrough(h11.Data(data=range(count)))  # pyright: ignore[reportArgumentType]

    async def _interim(self, event: h11.InformationalResponse) -> None:
        if event.status_code == 101:
            raise h11.RemoteProtocolError("it changes a protocol that nobody asked it to change")
        if event.status_code == 100 and self._command.they_are_waiting_for_100_continue:
            await self._to_command(h11.InformationalResponse(status_code=100, headers=[]))

    async def _from_host(self) -> None:
        try:
            data = await self._stream.receive()
        except anyio.EndOfStream:
            data = b""
        except _LOST as error:
            raise h11.RemoteProtocolError("the connection was lost") from error
        self.traffic.received += len(data)
        self._connection.keep_going()
        self._host.receive_data(data)

    async def _to_host(self, event: h11.Event) -> None:
        data = self._host.send(event)
        if data:
            await self._stream.send(data)
            self.traffic.sent += len(data)
            self._connection.keep_going()

    async def _to_command(self, event: h11.Event) -> None:
        data = self._command.send(event)
        if data:
            await self._connection.stream.send(data)
            self._connection.keep_going()


def _request(request: h11.Request, asked: ProxyRequest, injected: Headers) -> Headers:
    """The headers for the host: its own name and the length are written anew."""
    target = asked.target
    port = "" if target.port == _WEB_PORTS.get(target.protocol) else f":{target.port}"
    headers: Headers = [(b"Host", f"{target.host}{port}".encode())]
    replaced = (name.lower() for name, _ in injected)
    headers += _end_to_end(request.headers.raw_items(), (b"host", b"content-length", *replaced))
    headers += injected
    if asked.is_chunked:
        headers.append((b"Transfer-Encoding", b"chunked"))
    elif asked.length is not None:
        headers.append((b"Content-Length", asked.length))
    return [*headers, (b"Connection", b"close")]


def _long(event: h11.Response) -> int:
    """The length of a body that is long and of known length; 0 for any other."""
    names = {bytes(name): bytes(value) for name, value in event.headers}
    if b"transfer-encoding" in names or event.status_code in (204, 304):
        return 0
    length = int(names.get(b"content-length", b"0"))
    return length if length >= BULK else 0


def _response(event: h11.Response) -> h11.Response:
    is_chunked = any(name == b"transfer-encoding" for name, _ in event.headers)
    headers = _end_to_end(event.headers.raw_items(), (b"content-length",) if is_chunked else ())
    return h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)


def _end_to_end(items: list[tuple[bytes, bytes]], without: tuple[bytes, ...]) -> Headers:
    """Leave out what is between neighbours only, and what `Connection` says is.

    A length stays, whatever `Connection` says: without it the other side would find another end.
    """
    named = {
        token.strip().lower()
        for name, value in items
        if name.lower() == b"connection"
        for token in value.split(b",")
    } - {b"content-length"}
    left_out = _HOP_BY_HOP | named | set(without)
    return [(name, value) for name, value in items if name.lower() not in left_out]
