"""A chat program on this machine: it signs what it posts, and hears what is posted to it."""

import json
import queue
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from gallery_webhook.signature import SIGNATURE, TIMESTAMP, signed

SECRET = "a secret of both sides"
PATIENCE_S = 120


@dataclass
class Chat:
    """What a person's program knows; `heard` are the messages that came, by conversation."""

    url: str = ""
    heard: queue.Queue = field(default_factory=queue.Queue)
    port: int = 0

    def post(self, to, message, *, secret=SECRET, now=None, headers=None):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = headers or signed(secret, body, time.time() if now is None else now)
        place = to.replace("webhook://", "http://")
        return httpx.post(place, content=body, headers=given, timeout=PATIENCE_S)

    def say(self, to, text, conversation="general"):
        response = f"http://127.0.0.1:{self.port}/responses"
        message = {"conversation": conversation, "text": text, "response_url": response}
        return self.post(to, message)

    def hear(self):
        return self.heard.get(timeout=PATIENCE_S)


def handler_of(chat):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            right = signed(SECRET, body, int(self.headers[TIMESTAMP]))[SIGNATURE]
            chat.heard.put(json.loads(body) | {"is_signed": self.headers[SIGNATURE] == right})
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            """Nobody looks at it."""

    return Handler


@pytest.fixture
def chat():
    made = Chat()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler_of(made)) as server:
        made.port = server.server_address[1]
        server.daemon_threads = False  # none that answers is left behind
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
