"""The transports `websocket` and `unix`. Nothing heavy is loaded before one of them serves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import Endpoint, Server

_UNIX: Final = "unix://"


class WebSocketTransport:
    """WebSockets on a TCP port: `ws://IP:PORT`."""

    name = "websocket"

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until cancelled; raises `FerruleError` where it cannot or must not listen."""
        from ferrule_gate.gate import make_gate
        from ferrule_gate.place import listen, parse_place
        from ferrule_websocket.listener import listen_on, read_settings

        where = f"transports.{self.name}"
        place = parse_place(endpoint.url, "ws")
        limits = read_settings(self._context.settings, where)
        gate = make_gate(place, endpoint.options, self._context.settings, where)
        listener, place = listen(place)
        url = place.url("ws")
        with listener:
            await listen_on(listener, server, gate, limits, lambda: ready(url))


class UnixTransport:
    """WebSockets on a unix socket that only the user can connect to: `unix:///PATH`."""

    name = "unix"

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until cancelled; raises `FerruleError` where it cannot or must not listen."""
        from ferrule_gate.gate import make_gate
        from ferrule_websocket.listener import listen_on, read_settings
        from ferrule_websocket.socket_file import claimed

        where = f"transports.{self.name}"
        if not endpoint.url.startswith(_UNIX):
            raise FerruleError(f"cannot listen at {endpoint.url!r}: write unix:///PATH")
        path = self._path(endpoint.url.removeprefix(_UNIX))
        limits = read_settings(self._context.settings, where)
        # No token: who may connect is said by the file, and the options are for networks.
        gate = make_gate(None, {}, self._context.settings, where)
        with claimed(path) as listener:
            await listen_on(listener, server, gate, limits, lambda: ready(f"{_UNIX}{path}"))

    def _path(self, written: str) -> Path:
        """Return the socket that an endpoint names; without a name it is that of the home."""
        return Path(written).absolute() if written else self._context.home / "run/app-server.sock"
