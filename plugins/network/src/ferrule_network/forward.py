"""HTTP/1.1: requests for whole addresses, and tunnels by CONNECT.

Both sides are read and written by h11, so a host gets what the proxy understood and not what the
command wrote, and a command gets answers in the same way: two readings of one message cannot come
about. A host serves one request per connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import h11

from ferrule_network.audit import AuditEvent
from ferrule_network.exchange import Exchange
from ferrule_network.gate import RefusedError, UnreachableError
from ferrule_network.host import TargetError
from ferrule_network.request_target import ProxyRequest, read_credential, read_request
from ferrule_network.tunnel import tunnel

if TYPE_CHECKING:
    from ferrule_network.connection import Connection
    from ferrule_network.credentials import Credential


class _Answer(Exception):
    """A request ends with an answer of the proxy's own."""

    def __init__(self, status: int, text: str, kind: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.kind = kind


class HttpConnection:
    """A connection whose requests are served one after the other."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
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
        try:
            asked = read_request(request)
            shown = read_credential(request)
        except TargetError as error:
            self._connection.gate.record(AuditEvent("refused", "", reason=str(error)))
            raise _Answer(400, str(error)) from None
        try:
            return asked, self._connection.hold(shown, asked.target)
        except RefusedError as error:
            status = 407 if error.kind == "credential" else 429
            raise _Answer(status, str(error), error.kind) from None

    async def _tunnel(self, asked: ProxyRequest, credential: Credential) -> None:
        self._http.next_event()  # the end of a request without a body
        try:
            way = await self._connection.connect(asked.target, credential)
        except (RefusedError, UnreachableError) as error:
            raise _refusal(error) from None
        async with way.stream:
            done = h11.Response(status_code=200, headers=[], reason=b"Connection established")
            await self._send(done)
            early, _ = self._http.trailing_data
            await tunnel(self._connection, way, asked.target, credential, early)

    async def _forward(
        self, request: h11.Request, asked: ProxyRequest, credential: Credential
    ) -> None:
        try:
            way = await self._connection.connect(asked.target, credential)
        except (RefusedError, UnreachableError) as error:
            raise _refusal(error) from None
        async with way.stream:
            exchange = Exchange(self._connection, self._http, way.stream)
            try:
                await exchange.run(request, asked)
            except h11.RemoteProtocolError as error:
                if self._http.our_state is h11.SEND_RESPONSE and not exchange.is_commands_fault:
                    text = f"{asked.target} is allowed, but its answer cannot be read: {error}"
                    raise _Answer(502, text) from None
                raise
            finally:
                self._connection.closed(asked.target, credential, way, exchange.traffic)

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
