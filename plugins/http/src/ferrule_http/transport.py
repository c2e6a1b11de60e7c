"""The transport `http`. Nothing heavy is loaded before it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import Endpoint, Server


class HttpTransport:
    """Requests in, server-sent events out: `http://IP:PORT`."""

    name = "http"

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    async def serve(self, server: Server, endpoint: Endpoint, ready: Callable[[str], None]) -> None:
        """Serve until cancelled; raises `FerruleError` where it cannot or must not listen."""
        from ferrule_gate.gate import make_gate
        from ferrule_gate.place import listen, parse_place
        from ferrule_http.service import serve_on
        from ferrule_http.settings import read_settings

        where = f"transports.{self.name}"
        place = parse_place(endpoint.url, "http")
        settings = read_settings(self._context.settings, where)
        gate = make_gate(place, endpoint.options, self._context.settings, where)
        listener, place = listen(place)
        url = place.url("http")
        with listener:
            await serve_on(listener, server, gate, settings, lambda: ready(url))
