"""A scripted model: an HTTP server that speaks model APIs and says what it is told to.

The Responses API it speaks over a WebSocket as well, when a client asks to upgrade.

Also a program: `python -m ferrule_testkit.model_server script.json --port 0` prints its port and
serves until it is ended.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final

from ferrule_testkit.model_script import RESPONSES, Script, Turn, Wire, http_chunk
from ferrule_testkit.model_wires import wire_at

_MESSAGE: Final = "MESSAGE"
_NO_MODELS: Final = {"models": [], "data": [], "object": "list"}
_NOT_FOUND: Final = {"error": {"message": "not found"}}
_DEFAULT_ERROR: Final = {"error": {"message": "scripted error", "type": "error", "code": None}}


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it came in.

    Attributes:
        method: GET or POST.
        path: The path with its query.
        headers: Names in lower case.
        raw: The body's bytes.
        at: Seconds on the monotonic clock.
        connection: The client's port, the same as long as a connection is kept.
        whole_input: Of a WebSocket message, what it stands for with all that came before it.
    """

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    at: float
    connection: int
    whole_input: Sequence[Any] = ()

    @cached_property
    def body(self) -> dict[str, Any]:
        """The parsed body."""
        return json.loads(self.raw)


@dataclass
class _State:
    script: Script
    requests: list[RecordedRequest] = field(default_factory=list[RecordedRequest])
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: set[socket.socket] = field(default_factory=set[socket.socket])
    closing: threading.Event = field(default_factory=threading.Event)
    upgrade_status: int | None = HTTPStatus.SWITCHING_PROTOCOLS
    upgrade_headers: dict[str, str] = field(default_factory=dict[str, str])


class ScriptedModelServer:
    """A server on a port the system hands out, for use in a `with` statement.

    Example:
        with ScriptedModelServer([[message("Hello")]]) as server:
            ...  # a client talks to server.base_url
        assert server.requests[0].body["model"] == "gpt-5.5"
    """

    def __init__(
        self, script: object = (), *, port: int = 0, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        """Bind the port; requests are answered once the server is entered."""
        self._state = _State(Script(script))
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._scheme = "https" if ssl_context else "http"
        if ssl_context is not None:
            self._server.socket = ssl_context.wrap_socket(self._server.socket, server_side=True)
        self._server.state = self._state
        self._thread = threading.Thread(target=self._serve, name="scripted-model", daemon=True)

    def __enter__(self) -> ScriptedModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What belongs into `base_url` of a model provider."""
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[RecordedRequest]:
        """The model requests so far."""
        with self._state.lock:
            return [request for request in self._state.requests if request.method == "POST"]

    @property
    def messages(self) -> list[RecordedRequest]:
        """The model requests that came over WebSockets so far, warm-ups included."""
        with self._state.lock:
            return [request for request in self._state.requests if request.method == _MESSAGE]

    @property
    def upgrades(self) -> list[RecordedRequest]:
        """The requests for a WebSocket so far, whatever became of them."""
        with self._state.lock:
            return [request for request in self._state.requests if "upgrade" in request.headers]

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        with self._state.lock:
            return len(self._state.connections)

    def refuse_upgrades(self, status: int | None, **headers: str) -> None:
        """From now on answer requests for a WebSocket with a status, or with None not at all."""
        self._state.upgrade_status = status
        self._state.upgrade_headers = headers

    def play(self, script: object) -> None:
        """Go on with another script; requests stay recorded."""
        with self._state.lock:
            self._state.script = Script(script)

    def hang_up(self) -> None:
        """Close every open connection, idle ones included."""
        with self._state.lock:
            open_connections = list(self._state.connections)
        for connection in open_connections:
            _cut(connection)

    def close(self) -> None:
        """End every connection and every thread; more than once does no harm."""
        self._state.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self.hang_up()
        self._server.server_close()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing joins them
    request_queue_size = 128
    state: _State

    def server_bind(self) -> None:
        """Bind without the look-up of the host's name that an HTTP server makes."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        with self.server.state.lock:
            self.server.state.connections.add(self.connection)

    def finish(self) -> None:
        with self.server.state.lock:
            self.server.state.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:
        return

    def do_GET(self) -> None:
        self._record(b"")
        if self.headers.get("upgrade", "").lower() == "websocket":
            self._upgrade()
            return
        if "models" in self.path:
            self._answer_json(200, self.server.state.script.models or _NO_MODELS)
        else:
            self._answer_json(404, _NOT_FOUND)

    def _upgrade(self) -> None:
        state = self.server.state
        self.close_connection = True
        status = state.upgrade_status
        if status is None:
            self.connection.recv(1)  # returns when the client or the server gives up
        elif status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._answer_json(status, _NOT_FOUND, {"headers": state.upgrade_headers})
        elif wire_at(self.path) is not RESPONSES:
            self._answer_json(404, _NOT_FOUND)
        else:
            from ferrule_testkit.model_socket import ModelSocket, SocketDesk

            lines = [f"{name}: {value}" for name, value in self.headers.items()]
            upgrade = "\r\n".join([self.requestline, *lines, "", ""]).encode("latin-1")
            desk = SocketDesk(self._next_turn, self._record_message, state.closing)
            ModelSocket(self.connection, desk).serve(upgrade)
            self._hang_up()

    def _next_turn(self, body: str) -> Turn:
        with self.server.state.lock:
            return self.server.state.script.next_turn(body)

    def _record_message(self, message: bytes, whole_input: Sequence[Any]) -> int:
        return self._add(
            RecordedRequest(
                method=_MESSAGE,
                path=self.path,
                headers={},
                raw=message,
                at=time.monotonic(),
                connection=self.client_address[1],
                whole_input=whole_input,
            )
        )

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        state = self.server.state
        number = self._record(raw)
        wire = wire_at(self.path)
        if wire is None:
            self._answer_json(404, _NOT_FOUND)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        if wire.refuse and (refusal := wire.refuse(raw, headers)):
            self._answer_json(*refusal)
            return
        turn = self._next_turn(raw.decode("utf-8", "replace"))
        if state.closing.wait(turn.get("delay", 0)):
            return
        if turn.get("drop"):
            self._hang_up()
        elif "status" in turn:
            self._answer_json(turn["status"], turn.get("body", _DEFAULT_ERROR), turn)
        else:
            self._answer_stream(turn, number, wire)

    def _record(self, raw: bytes) -> int:
        request = RecordedRequest(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            raw=raw,
            at=time.monotonic(),
            connection=self.client_address[1],
        )
        return self._add(request)

    def _add(self, request: RecordedRequest) -> int:
        with self.server.state.lock:
            self.server.state.requests.append(request)
            return len(self.server.state.requests)

    def _answer_json(self, status: int, body: object, turn: Turn | None = None) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        for name, value in (turn or {}).get("headers", {}).items():
            self.send_header(name, str(value))
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer_stream(self, turn: Turn, number: int, wire: Wire) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        for name, value in turn.get("headers", {}).items():
            self.send_header(name, str(value))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        written = self.server.state.script.written_out(turn, wire)
        if written is not None:
            self.wfile.write(written)
            return
        for sent, piece in enumerate(self._pieces(turn, number, wire)):
            if sent == turn.get("cut_after"):
                self._hang_up()
                return
            self.wfile.write(http_chunk(piece))
        if turn.get("hang"):
            self.connection.recv(1)  # returns when the client or the server gives up
            self._hang_up()
            return
        self.wfile.write(b"0\r\n\r\n")

    def _pieces(self, turn: Turn, number: int, wire: Wire) -> Iterator[bytes]:
        for step in wire.steps(turn, number):
            if not isinstance(step, float | int):
                yield wire.encode(step)
            elif self.server.state.closing.wait(step):
                return

    def _hang_up(self) -> None:
        self.close_connection = True
        _cut(self.connection)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


def main() -> None:
    """Serve a script from a file."""
    parser = argparse.ArgumentParser(description="Serve a scripted model.")
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    script = json.loads(options.script.read_text(encoding="utf-8"))
    with ScriptedModelServer(script, port=options.port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
