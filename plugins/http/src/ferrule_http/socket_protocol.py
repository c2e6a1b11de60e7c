"""HTTP on one socket. Bounds what the library leaves open: how many sockets, and slow requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ferrule_gate.http_socket import SECOND_LOOK_S, HttpSocket

if TYPE_CHECKING:
    import asyncio

    from ferrule_gate.limits import Limits

_SOCKETS_PER_CLIENT: Final = 4
_STRANGERS: Final = 64


class Sockets:
    """Counts the sockets of one transport."""

    def __init__(self, limits: Limits) -> None:
        self.count = 0
        self.most = _SOCKETS_PER_CLIENT * limits.max_connections + _STRANGERS
        self.request_timeout_s = limits.handshake_timeout_s


class SocketProtocol(HttpSocket):
    """One that hangs up on sockets beyond the limit and on requests that never come."""

    def __init__(self, sockets: Sockets, *args: Any, **options: Any) -> None:  # noqa: ANN401 -- the library's
        super().__init__(*args, **options)
        self._sockets = sockets
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hang up at once where there are too many sockets already."""
        self._sockets.count += 1
        super().connection_made(transport)
        if self._sockets.count > self._sockets.most:
            transport.abort()
        else:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what it took."""
        self._sockets.count -= 1
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take data; where it is not yet a whole request, the rest must come soon."""
        super().data_received(data)
        if self._is_between_requests():
            self._expect_request()
        else:
            self._expect_nothing()

    def _is_between_requests(self) -> bool:
        cycle: object = self.cycle  # None before the first request, whatever the library declares
        return cycle is None or self.cycle.response_complete

    def _expect_request(self) -> None:
        if self._deadline is None:
            wait_s = self._sockets.request_timeout_s
            self._deadline = self.loop.call_later(wait_s, self._look_again)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look_again(self) -> None:
        self._deadline = self.loop.call_later(SECOND_LOOK_S, self._hang_up)

    def _hang_up(self) -> None:
        self._deadline = None
        if self._is_between_requests():
            self.transport.abort()
