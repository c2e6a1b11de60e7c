"""The transport does what the contract asks of every transport."""

from ferrule_http.transport import HttpTransport
from ferrule_testkit import TransportConformance


class TestHttpTransport(TransportConformance):
    url = "http://127.0.0.1:0"
    open_url = "http://0.0.0.0:0"

    def make(self, context):
        return HttpTransport(context)
