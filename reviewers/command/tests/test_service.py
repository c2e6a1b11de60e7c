"""A service decides over HTTP."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

YES = b'{"decision": "accept", "reason": "r"}'


class Service(ThreadingHTTPServer):
    """Answers what it is told, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.headers, self.seen = 200, YES, {}, []
        self.hold = threading.Event()
        self.hold.set()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/review"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((dict(self.headers), json.loads(body)))
        self.server.hold.wait(20)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        with suppress(OSError):  # it may have given up
            self.wfile.write(self.server.body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def service():
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.hold.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_is_posted_the_request_and_its_answer_counts(decide, service):
    outcome = decide(
        url=service.url,
        http_headers={"x-team": "acme"},
        env_http_headers={"authorization": "ACME_TOKEN"},
        environ={"ACME_TOKEN": "Bearer t"},
    )

    assert outcome == {"decision": "accept", "reviewer": "command:lint", "reason": "r"}
    ((headers, seen),) = service.seen
    assert seen["call"]["tool"] == "exec_command"
    assert headers["x-team"] == "acme"
    assert headers["authorization"] == "Bearer t"
    assert headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (500, YES, "HTTP status 500"),
        (204, b"", "HTTP status 204"),
        (307, YES, "HTTP status 307"),
        (200, b"<html>", "exactly one JSON object"),
        (200, YES + YES, "exactly one JSON object"),
        (200, b" " * 70_000 + YES, "more than 65536 bytes"),
    ],
)
def test_any_other_answer_is_a_refusal(decide, service, status, body, told):
    service.status, service.body = status, body
    service.headers = {"location": service.url} if status == 307 else {}

    outcome = decide(url=service.url)

    assert outcome["decision"] == "decline"
    assert told in outcome["reason"]
    assert len(service.seen) == 1


def test_a_service_that_does_not_answer_is_a_refusal(decide, service):
    service.hold.clear()

    outcome = decide(url=service.url, timeout_ms=100)

    assert outcome["decision"] == "decline"
    assert "did not answer within 0.1 s" in outcome["reason"]


def test_a_service_that_is_not_there_is_a_refusal(decide):
    outcome = decide(url="http://127.0.0.1:9/")

    assert outcome["decision"] == "decline"
    assert "could not be asked: ConnectError" in outcome["reason"]


def test_it_is_not_asked_without_its_credentials(decide, service):
    outcome = decide(url=service.url, env_http_headers={"authorization": "ACME_TOKEN"})

    assert "ACME_TOKEN" in outcome["reason"]
    assert service.seen == []


def test_what_is_on_this_machine_is_not_asked_through_a_proxy(decide, service, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert decide(url=service.url)["decision"] == "accept"
