"""The suite for transports, with a server at the other end that echoes.

from ferrule_testkit import TransportConformance

class TestPigeon(TransportConformance):
    url = "pigeon://127.0.0.1:0"

    def make(self, context):
        return PigeonTransport(context)

    def connect(self, url):
        return PigeonWire(url)
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import anyio
import anyio.from_thread
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.serving import Endpoint, Transport
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import PATIENCE_S, Conformance, drive, must
from ferrule_testkit.echo_server import EchoServer
from ferrule_testkit.wires import Wire, wire_to

_LARGE: Final = 3_000_000


class TransportConformance(Conformance):
    """What every transport has to do.

    Attributes:
        url: Where to listen, with a port of 0 or `{folder}` for a folder of the test.
        options: What the command line says for it.
        open_url: A place that strangers reach, which is refused without authentication; empty
            where the transport has none.
    """

    url: ClassVar[str]
    options: ClassVar[Mapping[str, str]] = {}
    open_url: ClassVar[str] = ""

    def make(self, context: PluginContext) -> Transport:
        """Make the transport under test."""
        raise NotImplementedError("say with `make` which transport is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    def connect(self, url: str) -> Wire:
        """Connect as a client to the URL that `ready` was told."""
        return wire_to(url)

    @pytest.fixture
    def place(self, request: pytest.FixtureRequest) -> str:
        """Where to listen."""
        if "{folder}" not in self.url:
            return self.url
        return self.url.replace("{folder}", str(request.getfixturevalue("socket_folder")))

    @pytest.fixture
    def served(self, context: PluginContext, place: str) -> Iterator[Served]:
        """The transport, serving a server that echoes."""
        with _serving(self.make(context), Endpoint(place, self.options)) as (url, server):
            yield Served(url, server, self.connect)

    def test_it_has_a_name(self, context: PluginContext) -> None:
        must(self.make(context).name.strip(), "it has", "serving.Transport.name")

    def test_making_one_starts_nothing(self, context: PluginContext) -> None:
        self.make(context)
        with noted_starts() as noted:
            self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "serving.Transport")

    def test_a_message_arrives_whole_and_so_does_its_answer(self, served: Served) -> None:
        with served.client() as client:
            for value in ("hi", "Grüße \U0001f600 \u2028 \n", {"deep": [[], {}, None]}):
                answer = client.echo(value)
                must(answer == value, f"{value!r} comes back", "serving.Transport")

    def test_a_large_message_is_one_message(self, served: Served) -> None:
        with served.client() as client:
            value = "x" * _LARGE
            must(client.echo(value) == value, "it is not cut", "serving.MESSAGE_LIMIT")

    def test_messages_come_in_their_order(self, served: Served) -> None:
        with served.client() as client:
            client.send({"method": "flood", "params": {"count": 200, "size": 1_000}})
            numbers = [client.receive()["params"]["n"] for _ in range(200)]
            must(numbers == list(range(200)), "none is lost, none overtakes", "serving.Connection")

    def test_what_is_no_message_ends_nobody_else(self, served: Served) -> None:
        with served.client() as other:
            with served.client() as client:
                for raw in (b"", b"{", b"\xff\xfe", b"null", b"[" * 500):
                    client.wire.send(raw)
            must(other.echo("here") == "here", "others are served on", "serving.Transport")

    def test_clients_are_told_apart(self, served: Served) -> None:
        with served.client() as one, served.client() as two:
            one.send({"id": 1, "method": "echo", "params": "one"})
            two.send({"id": 1, "method": "echo", "params": "two"})
            said = (one.receive()["result"], two.receive()["result"])
            must(said == ("one", "two"), "each hears its own", "serving.Server.connect")
            must(len(served.server.clients) == 2, "the server knows two", "serving.Server")

    def test_a_client_that_leaves_is_forgotten(self, served: Served) -> None:
        with served.client() as client:
            client.echo("hi")
        served.until(lambda: not served.server.clients)

    def test_a_server_that_ends_a_client_ends_its_connection(self, served: Served) -> None:
        with served.client() as client:
            client.send({"method": "close"})
            must(client.ends(), "the client hears of it", "serving.Connection.messages")

    def test_a_fault_of_the_server_ends_no_other_client(self, served: Served) -> None:
        with served.client() as other:
            with served.client() as client:
                client.send({"method": "fail"})
                served.until(lambda: served.server.received >= 1)
            must(other.echo("here") == "here", "others are served on", "serving.Transport")

    def test_it_is_not_open_to_strangers(self, context: PluginContext) -> None:
        if not self.open_url:
            pytest.skip("strangers cannot reach it anyhow")

        async def serve() -> None:
            endpoint = Endpoint(self.open_url, {})
            with anyio.move_on_after(PATIENCE_S) as scope:
                await self.make(context).serve(EchoServer(), endpoint, lambda url: scope.cancel())

        with pytest.raises(FerruleError):
            drive(serve)

    def test_it_ends_when_it_is_cancelled_and_can_begin_again(
        self, context: PluginContext, place: str
    ) -> None:
        for _ in range(2):
            with (
                _serving(self.make(context), Endpoint(place, self.options)) as (url, server),
                Served(url, server, self.connect).client() as client,
            ):
                must(client.echo("hi") == "hi", "it serves", "serving.Transport.serve")


class Client:
    """One client, which speaks to the server that echoes."""

    def __init__(self, wire: Wire) -> None:
        """Speak over a wire."""
        self.wire = wire

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message."""
        self.wire.send(json.dumps(message).encode())

    def receive(self) -> dict[str, Any]:
        """Await the next message."""
        try:
            raw = self.wire.frames.get(timeout=PATIENCE_S)
        except queue.Empty:
            pytest.fail("the transport sends nothing")
        if raw is None:
            pytest.fail("the transport has ended the connection")
        return json.loads(raw)

    def echo(self, value: object) -> object:
        """Have something said back."""
        self.send({"id": 1, "method": "echo", "params": value})
        return self.receive()["result"]

    def ends(self) -> bool:
        """Whether the connection ends; what comes before that is left out."""
        try:
            while self.wire.frames.get(timeout=PATIENCE_S) is not None:
                continue
        except queue.Empty:
            return False
        return True


class Served:
    """A transport that serves.

    Attributes:
        url: What `ready` was told.
        server: Whom clients talk to.
    """

    def __init__(self, url: str, server: EchoServer, connect: Callable[[str], Wire]) -> None:
        """Take what serves."""
        self.url = url
        self.server = server
        self._connect = connect

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A client that leaves with the block."""
        wire = self._connect(self.url)
        try:
            yield Client(wire)
        finally:
            wire.close()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""
        pause = threading.Event()
        for _ in range(int(PATIENCE_S / 0.01)):
            if holds():
                return
            pause.wait(0.01)
        pytest.fail("it never comes to that")


@contextmanager
def _serving(transport: Transport, endpoint: Endpoint) -> Iterator[tuple[str, EchoServer]]:
    """Serve in a thread of its own until the block is left."""
    urls: queue.Queue[str] = queue.Queue()
    server = EchoServer()
    with anyio.from_thread.start_blocking_portal("asyncio") as portal:
        running = portal.start_task_soon(transport.serve, server, endpoint, urls.put)
        try:
            yield _first(urls, running.done, running.result), server
        finally:
            running.cancel()


def _first(
    urls: queue.Queue[str], is_done: Callable[[], bool], result: Callable[[], object]
) -> str:
    for _ in range(int(PATIENCE_S / 0.05)):
        try:
            return urls.get(timeout=0.05)
        except queue.Empty:
            if is_done():
                result()  # raises why it does not serve
                pytest.fail("`serve` ended before it was ready")
    pytest.fail("`ready` is never called")
