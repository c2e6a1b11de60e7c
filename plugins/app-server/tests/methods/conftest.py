"""A client of the real server over stdio; all it is told is checked against the published schema.

The published schema lies outside of the repository, in `../shared/conformance/app-server`; where it
is missing, messages are not checked, which a line of the test run says.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import warnings
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

BUNDLE = (
    Path(__file__).parents[5]
    / "shared/conformance/app-server/schema-experimental/codex_app_server_protocol.schemas.json"
)
PATIENCE_S = 120
REPLIES = {
    "configRequirements/read": "ConfigRequirementsReadResponse",
    "config/value/write": "ConfigWriteResponse",
    "config/batchWrite": "ConfigWriteResponse",
}
"""Where the name does not follow from that of the parameters."""


class Published:
    """The published schema: what each method answers and what each notification holds."""

    def __init__(self) -> None:
        self.bundle = json.loads(BUNDLE.read_text())
        definitions = self.bundle["definitions"]
        self._replies: dict[str, str] = {}
        for request in definitions["ClientRequest"]["oneOf"]:
            name = request["properties"].get("params", {}).get("$ref", "").rpartition("/")[2]
            if name.endswith("Params"):
                method = request["properties"]["method"]["enum"][0]
                self._replies[method] = name.removesuffix("Params") + "Response"
        self._replies.update(REPLIES)
        self._notifications = {
            each["properties"]["method"]["enum"][0]: each["properties"].get("params", {})
            for each in definitions["ServerNotification"]["oneOf"]
        }

    def check_reply(self, method: str, result: object) -> None:
        name = self._replies.get(method)
        if name is not None:
            place = "v2/" if name in self.bundle["definitions"]["v2"] else ""
            self._check({"$ref": f"#/definitions/{place}{name}"}, result, method)

    def check_notification(self, message: dict) -> None:
        self._check(self._notifications[message["method"]], message["params"], message["method"])

    def _check(self, schema: dict, value: object, what: str) -> None:
        from jsonschema import Draft7Validator

        validator = Draft7Validator({**schema, "definitions": self.bundle["definitions"]})
        problems = [f"{[*error.path]}: {error.message}" for error in validator.iter_errors(value)]
        assert not problems, f"{what}: {problems}"


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Client:
    """One client of a server of its own."""

    def __init__(self, command: list[str], cwd: Path, environ: dict, published) -> None:
        self.cwd = cwd
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=environ
        )
        self.notifications: list[dict] = []
        self.received: list[tuple[str, dict]] = []
        """Every message so far, with the method it answers or names."""
        self._published = published
        self._arrived: queue.Queue[dict | None] = queue.Queue()
        self._asked: dict[int, str] = {}
        self._replies: dict[int, dict] = {}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        capabilities = {"experimentalApi": True}
        info = {"name": "test", "version": "1"}
        self.call("initialize", clientInfo=info, capabilities=capabilities)

    def _read(self) -> None:
        for line in self.process.stdout:
            self._arrived.put(json.loads(line))
        self._arrived.put(None)

    def send(self, method: str, /, **params) -> int:
        """Ask for something; the number is for `reply`."""
        number = len(self._asked)
        self._asked[number] = method
        message = {"id": number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return number

    def reply(self, number: int) -> dict:
        """Await the answer to what was asked."""
        while number not in self._replies:
            self._take()
        message = self._replies.pop(number)
        if "error" in message:
            raise RefusedError(message["error"])
        if self._published is not None:
            self._published.check_reply(self._asked[number], message["result"])
        return message["result"]

    def call(self, method: str, /, **params) -> dict:
        """Ask and await the answer."""
        return self.reply(self.send(method, **params))

    def told(self, method: str, **expected) -> dict:
        """Await a notification that holds what is expected; it is told only once."""
        while True:
            for message in self.notifications:
                params = message["params"]
                if message["method"] == method and expected.items() <= params.items():
                    self.notifications.remove(message)
                    return params
            self._take()

    def _take(self) -> None:
        message = self._arrived.get(timeout=PATIENCE_S)
        assert message is not None, "the server has ended"
        if "method" in message:
            self.received.append((message["method"], message))
        else:
            self.received.append((self._asked[message["id"]], message))
        if "id" in message:
            self._replies[message["id"]] = message
            return
        if self._published is not None:
            self._published.check_notification(message)
        self.notifications.append(message)

    def close(self) -> None:
        """Leave, as a client does, and see the server end."""
        try:
            self.process.stdin.close()
            self.process.wait(timeout=PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            self.process.stdout.close()


@pytest.fixture(scope="session")
def published():
    """The published schema, or None."""
    if BUNDLE.exists():
        return Published()
    warnings.warn(f"messages are not checked: {BUNDLE} is not there", pytest.PytestWarning, 1)
    return None


@pytest.fixture
def connect(ferrule_home, published):
    """Start a server with a client; options of the command line are passed on."""
    with ExitStack() as clients:

        def start(*options: str) -> Client:
            command = ferrule_home.command(["app-server", *options])
            client = Client(command, ferrule_home.workspace, ferrule_home.environ, published)
            return clients.enter_context(closing(client))

        yield start


@pytest.fixture
def client(connect):
    """A client of a server."""
    return connect()


@pytest.fixture
def refused():
    """Expect a call to be refused, with words of the reason."""

    def expect(words: str):
        return pytest.raises(RefusedError, match=words)

    return expect
