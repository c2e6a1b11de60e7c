"""Hooks that are addresses and hooks that are functions."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.anyio


class Server(ThreadingHTTPServer):
    """A real server that answers as it is told."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.body, self.location, self.seen = 200, b"{}", None, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("location", self.server.location)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def guard(**keys):
    return {"PreToolUse": [{"hooks": [keys]}]}


async def verdict(place, bash):
    async with place.session():
        return (await place.before(bash("ls")))[1]


async def test_an_address_gets_the_payload_and_its_answer_counts(place, bash, server, monkeypatch):
    monkeypatch.setenv("HOOK_TOKEN", "s3cret")
    monkeypatch.setenv("OTHER", "hidden")
    server.body = b'{"hookSpecificOutput": {"permissionDecision": "deny"}}'
    headers = {"authorization": "Bearer $HOOK_TOKEN", "x-other": "${OTHER}."}
    place.write(
        "home", guard(type="http", url=server.url, headers=headers, allowedEnvVars=["HOOK_TOKEN"])
    )
    assert (await verdict(place, bash)).decision == "deny"
    ((path, sent, payload),) = server.seen
    assert (path, payload["tool_input"]["command"]) == ("/hook", "ls")
    lower = {name.lower(): value for name, value in sent.items()}
    assert (lower["authorization"], lower["x-other"]) == ("Bearer s3cret", ".")


async def test_an_empty_success_is_no_opinion(place, bash, server):
    server.body = b""
    place.write("home", guard(type="http", url=server.url))
    assert await verdict(place, bash) is None


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_any_other_answer_is_a_failure_and_no_redirection_is_followed(
    place, bash, server, status
):
    server.status = status
    server.location = server.url + "/elsewhere" if status == 302 else None
    place.write("home", guard(type="http", url=server.url))
    found = await verdict(place, bash)
    assert found.decision == "deny"
    assert f"HTTP status {status}" in found.reason
    assert len(server.seen) == 1


async def test_a_server_that_is_not_there_is_a_failure(place, bash):
    place.write("home", guard(type="http", url="http://127.0.0.1:9/x"))
    assert "could not be asked" in (await verdict(place, bash)).reason


@pytest.fixture
def installed(tmp_path_factory, monkeypatch):
    """A package outside of the project."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_guard.py").write_text(
        "async def refuse(payload):\n"
        "    return {'decision': 'block', 'reason': payload['tool_input']['command']}\n"
        "def silent(payload):\n    return None\n"
        "def failing(payload):\n    raise ValueError('oh')\n"
        "def odd(payload):\n    return 7\n"
        "thing = 3\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("acme_guard", None)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("acme_guard:refuse", "blocked by PreToolUse hook: ls"),
        ("acme_guard:failing", "raised ValueError: oh"),
        ("acme_guard:odd", "answered int"),
        ("acme_guard:thing", "is no function"),
        ("acme_guard:missing", "AttributeError"),
        ("acme_missing:f", "is not installed"),
    ],
)
async def test_a_function_of_an_installed_package(place, bash, installed, function, said):
    place.write("home", guard(type="python", function=function))
    found = await verdict(place, bash)
    assert found.decision == "deny"
    assert said in found.reason


async def test_a_function_may_have_no_opinion(place, bash, installed):
    place.write("home", guard(type="python", function="acme_guard:silent"))
    assert await verdict(place, bash) is None


async def test_a_module_of_the_project_is_not_imported(place, bash, monkeypatch):
    (place.ws / "acme_inside.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(place.ws))
    place.write("ws/.ferrule", guard(type="python", function="acme_inside:f"))
    found = await verdict(place, bash)
    assert "lies in the project" in found.reason
    assert "acme_inside" not in sys.modules
