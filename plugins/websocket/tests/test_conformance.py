"""Both transports do what the contract asks of every transport."""

from ferrule_testkit import TransportConformance
from ferrule_websocket.transports import UnixTransport, WebSocketTransport


class TestWebSocketTransport(TransportConformance):
    url = "ws://127.0.0.1:0"
    open_url = "ws://0.0.0.0:0"

    def make(self, context):
        return WebSocketTransport(context)


class TestUnixTransport(TransportConformance):
    url = "unix://{folder}/run/s.sock"

    def make(self, context):
        return UnixTransport(context)
