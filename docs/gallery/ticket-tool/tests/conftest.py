"""A tracker on this machine."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

TOKEN = "a-token-of-the-tracker"


@dataclass
class Tracker:
    """What was filed; posts without the token are refused."""

    token: str = TOKEN
    tickets: list = field(default_factory=list)
    port: int = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/tickets"


class Server(ThreadingHTTPServer):
    """Leaves no thread behind, and does not mind clients that hang up, as the suite has them."""

    daemon_threads = False

    def handle_error(self, request, client_address):
        """Nobody looks at it."""


def handler_of(tracker):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            posted = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.headers["authorization"] != f"Bearer {tracker.token}":
                self.reply(401, {"error": "who are you?"})
                return
            tracker.tickets.append(posted)
            self.reply(201, {"url": f"{tracker.url}/{len(tracker.tickets)}"})

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *arguments):
            """Nobody looks at it."""

    return Handler


@pytest.fixture(scope="module")
def running_tracker():
    tracker = Tracker()
    with Server(("127.0.0.1", 0), handler_of(tracker)) as server:
        tracker.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield tracker
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def tracker(running_tracker):
    """The tracker, with nothing filed yet."""
    running_tracker.tickets.clear()
    running_tracker.token = TOKEN
    return running_tracker
