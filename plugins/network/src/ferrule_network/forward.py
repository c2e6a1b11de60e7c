"""HTTP/1.1: requests for whole addresses, and tunnels by CONNECT.

Both sides are read and written by h11, so a host gets what the proxy understood and not what the
command wrote, and a command gets answers in the same way: two readings of one message cannot come
about. A host serves one request per connection. Where tunnels to a host are opened, the requests
within go the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio
import h11

from ferrule_hookspecs.errors import FerruleError
from ferrule_network.audit import AuditEvent
from ferrule_network.connection import Connection
from ferrule_network.exchange import Exchange
from ferrule_network.gate import RefusedError, UnreachableError
from ferrule_network.host import TargetError
from ferrule_network.request_target import (
    ProxyRequest,
    read_credential,
    read_opened,
    read_request,
)
from ferrule_network.tunnel import tunnel

if TYPE_CHECKING:
    from ferrule_network.credentials import Credential
    from ferrule_network.exchange import Headers
    from ferrule_network.gate import Way
    from ferrule_network.host_stream import HostStream
    from ferrule_network.interceptor import SecuredHost
    from ferrule_network.rule import Target


class _Answer(Exception):
    """A request ends with an answer of the proxy's own."""

    def __init__(self, status: int, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.kind = kind


class Opened(NamedTuple):
    """A tunnel that the proxy has opened: where it leads, and whose it is."""

    target: Target
    credential: Credential


class HttpConnection:
    """A connection whose requests are served one after the other."""

    def __init__(self, connection: Connection, opened: Opened | None = None) -> None:
        self._connection = connection
        self._opened = opened
        limit = connection.gate.limits.head_bytes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limit)

    async def serve(self) -> None:
        """Serve requests until one of them is the last."""
        try:
            while await self._serve_next():
                self._http.start_next_cycle()
                self._connection.allow_time(self._connection.gate.limits.keep_s)
        except h11.RemoteProtocolError as error:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                text = f"the request cannot be read: {str(error)[:200]}"
                self._connection.gate.record(AuditEvent("refused", "", reason=text))
                await self._answer(_Answer(error.error_status_hint, text))
                await self._connection.linger()
        except anyio.EndOfStream:
            return  # the command hung up between two requests, or in the middle of one

    async def _serve_next(self) -> bool:
        request = await self._head()
        if request is None:
            return False
        try:
            asked, credential = self._understand(request)
            if request.method == b"CONNECT":
                await self._tunnel(asked, credential)
                return False
            await self._forward(request, asked, credential)
        except _Answer as answer:
            await self._answer(answer)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            return True
        await self._connection.linger()
        return False

    async def _head(self) -> h11.Request | None:
        is_waiting = not self._http.trailing_data[0]
        if not is_waiting:
            self._connection.allow_time(self._connection.gate.limits.head_s)
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = await self._connection.receive()
            if is_waiting:
                is_waiting = False
                self._connection.allow_time(self._connection.gate.limits.head_s)
            self._http.receive_data(data)
        return event if isinstance(event, h11.Request) else None

    def _understand(self, request: h11.Request) -> tuple[ProxyRequest, Credential]:
        limit = self._connection.gate.limits.head_bytes
        if _size(request) > limit:  # h11 counts only while a head is not complete
            text = f"the head of the request is larger than {limit} bytes"
            self._connection.gate.record(AuditEvent("refused", "", reason=text))
            raise _Answer(431, text)
        opened = self._opened
        try:
            if opened is not None:
                return read_opened(request, opened.target), opened.credential
            asked = read_request(request)
            shown = read_credential(request)
        except TargetError as error:
            whose = opened.credential.command if opened is not None else ""
            about = opened.target if opened is not None else None
            self._connection.gate.record(AuditEvent("refused", whose, about, reason=str(error)))
            raise _Answer(400, str(error)) from None
        try:
            return asked, self._connection.hold(shown, asked.target)
        except RefusedError as error:
            status = 407 if error.kind == "credential" else 429
            raise _Answer(status, str(error), error.kind) from None

    async def _tunnel(self, asked: ProxyRequest, credential: Credential) -> None:
        self._http.next_event()  # the end of a request without a body
        settings = self._connection.gate.settings_for(credential)
        if settings.interception.covers(asked.target.host):
            await self._open_tunnel(asked.target, credential)
            return
        try:
            way = await self._connection.connect(asked.target, credential)
        except (RefusedError, UnreachableError) as error:
            raise _refusal(error) from None
        async with way.stream:
            early = await self._established()
            await tunnel(self._connection, way, asked.target, credential, early)

    async def _established(self) -> bytes:
        """Say that the tunnel is there; returns what the command sent before."""
        done = h11.Response(status_code=200, headers=[], reason=b"Connection established")
        await self._send(done)
        early, _ = self._http.trailing_data
        return early

    async def _open_tunnel(self, target: Target, credential: Credential) -> None:
        """Look into a tunnel; nothing goes to the host before a request in it is judged."""
        from ferrule_network.interceptor import InterceptionError

        outer = self._connection
        interceptor = outer.gate.interceptor
        if interceptor is None:
            raise self._unopened(target, credential, "its tunnels have to be opened, and cannot be")
        try:
            interceptor.prepare()
        except FerruleError as error:
            raise self._unopened(target, credential, str(error)) from None
        outer.put_back(await self._established())
        outer.allow_time(outer.gate.limits.head_s)
        try:
            stream = await interceptor.accept(outer, target.host)
            inner = Connection(
                stream, outer.gate, outer.credentials, outer.scope, outer.holders, credential
            )
            inner.allow_time(outer.gate.limits.keep_s)
            await HttpConnection(inner, Opened(target, credential)).serve()
        except InterceptionError as error:
            outer.gate.record(AuditEvent("refused", credential.command, target, reason=str(error)))

    def _unopened(self, target: Target, credential: Credential, why: str) -> _Answer:
        event = AuditEvent("refused", credential.command, target, reason=why)
        self._connection.gate.record(event)
        return _Answer(403, f"{target} is refused: {why}", "interception")

    async def _forward(
        self, request: h11.Request, asked: ProxyRequest, credential: Credential
    ) -> None:
        try:
            way = await self._connection.connect(asked.target, credential)
        except (RefusedError, UnreachableError) as error:
            raise _refusal(error) from None
        async with way.stream:
            stream, injected = await self._secured(way, asked.target, credential)
            exchange = Exchange(self._connection, self._http, stream)
            try:
                await exchange.run(request, asked, injected)
            except h11.RemoteProtocolError as error:
                if self._http.our_state is h11.SEND_RESPONSE and not exchange.is_commands_fault:
                    text = f"{asked.target} is allowed, but its answer cannot be read: {error}"
                    raise _Answer(502, text) from None
                raise
            finally:
                self._connection.closed(asked.target, credential, way, exchange.traffic)

    async def _secured(
        self, way: Way, target: Target, credential: Credential
    ) -> tuple[HostStream | SecuredHost, Headers]:
        """Have the host of an opened tunnel show who it is, before anything is said to it."""
        gate = self._connection.gate
        if self._opened is None or gate.interceptor is None:
            return way.stream, []
        try:
            secured = await gate.interceptor.secure(way, target)
            interception = gate.settings_for(credential).interception
            return secured, await gate.interceptor.headers(target, interception)
        except FerruleError as error:
            raise _refusal(gate.failed(credential.command, target, str(error))) from None

    async def _answer(self, answer: _Answer) -> None:
        body = f"{answer.text}\n".encode()
        headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", f"{len(body)}"),
        ]
        if answer.status == 407:
            headers.append(("Proxy-Authenticate", 'Basic realm="ferrule"'))
        if answer.kind:
            headers.append(("X-Proxy-Error", f"blocked-by-{answer.kind}"))
        self._read_rest()
        if self._http.their_state is not h11.DONE:
            headers.append(("Connection", "close"))
        await self._send(
            h11.Response(status_code=answer.status, headers=headers, reason=_phrase(answer.text))
        )
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    def _read_rest(self) -> None:
        """Find the end of a request that is here already; no body is waited for."""
        if self._http.their_state is not h11.SEND_BODY:
            return
        event = self._http.next_event()
        while isinstance(event, h11.Data):
            event = self._http.next_event()

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._connection.stream.send(data)


def _size(request: h11.Request) -> int:
    fields = sum(len(name) + len(value) + 4 for name, value in request.headers)
    return len(request.target) + fields


def _phrase(text: str) -> bytes:
    """The sentence on the status line, too: of a refused tunnel, programs show nothing else."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text[:500]).encode()


def _refusal(error: RefusedError | UnreachableError) -> _Answer:
    if isinstance(error, RefusedError):
        return _Answer(403, str(error), error.kind)
    return _Answer(502, str(error))
