"""Real servers, and real sessions that use them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.surroundings import free_port

SERVERS = Path(__file__).parent / "servers"
PATIENT = "mcp_optional_startup_grace_ms = 120000\n"
# The model is told of every tool, as one is that cannot search for them.
DIRECT = "tools = { tool_search = false, web_search = false }\n"


def table(name, *arguments, server="plain_server.py", **keys):
    """A table of `mcp_servers` for a server of this folder, trusted unless it is said otherwise."""
    given = {"command": sys.executable, "args": [str(SERVERS / server), *map(str, arguments)]}
    given |= {"trusted": True, "startup_timeout_sec": 120, **keys}
    lines = [f"{key} = {toml(value)}" for key, value in given.items()]
    return "\n".join([f"[mcp_servers.{name}]", *lines, ""])


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture(name="table")
def _table():
    return table


@dataclass
class Talk:
    """Sessions in a home whose model calls tools."""

    home: object
    model: object
    answers: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    pause_s: float = 0

    def configure(self, *tables, top="", policy="never"):
        """Write the configuration."""
        self.home.configure(top=PATIENT + DIRECT + top, tables="\n".join(tables))
        path = self.home.path / "config.toml"
        text = path.read_text().replace(
            'approval_policy = "never"', f'approval_policy = "{policy}"'
        )
        path.write_text(text)

    def play(self, *calls):
        """Have the model make calls, one request each, and end."""
        turns = [
            [function_call(name, arguments, call_id=f"call_{number}")]
            for number, (name, arguments) in enumerate(calls)
        ]
        self.model.play({"turns": [*turns, [message("done")]]})

    def exec(self, *calls, options=(), **keys):
        """Run the calls by `ferrule exec`; returns the finished run."""
        self.play(*calls)
        return self.home.run("exec", "--json", *options, "go", **keys)

    def run(self, *calls, can_answer=True):
        """Run the calls in a session of this process; returns the completed items of servers."""
        self.play(*calls)

        async def main(kernel):
            session = await self.open(kernel, can_answer=can_answer)
            await self.turn(session)
            await session.close()
            async for event in session.events():
                self.events.append(event)

        self.host().run(main)
        return self.items()

    def host(self):
        """The command's host in this home."""
        return LocalHost(self.home.path, self.home.environ)

    async def open(self, kernel, *, can_answer=True, cwd=None):
        """Open a session."""
        cwd = str(cwd or self.home.workspace)
        config = kernel.config(ConfigRequest(cwd=cwd))
        return await kernel.threads.start(ThreadOptions(config, cwd, can_answer=can_answer))

    async def heard(self, session, method, **params):
        """Read events until one of a method comes with these parameters."""
        with anyio.fail_after(120):
            async for event in session.events():
                self.events.append(event)
                if event["method"] == method and params.items() <= event["params"].items():
                    return

    async def turn(self, session):
        """Take a turn and answer what is asked."""
        content = [{"type": "text", "text": "go"}]
        params = {"threadId": session.thread["id"], "input": content}
        await session.submit({"id": "1", "method": "turn/start", "params": params})
        with anyio.fail_after(120):
            async for event in session.events():
                self.events.append(event)
                if "id" in event:
                    await self._answer(session, event)
                if event["method"] == "turn/completed":
                    return

    async def _answer(self, session, event):
        await anyio.sleep(self.pause_s)
        kind = "approval" if (event["params"].get("_meta") or {}) else event["params"]["mode"]
        params = {
            "threadId": session.thread["id"],
            "requestId": event["id"],
            "result": self.answers[kind],
        }
        await session.submit({"id": "2", "method": "serverRequest/answer", "params": params})

    def has(self, method, **params):
        """Whether an event of a method came with these parameters."""
        return any(params.items() <= told.items() for told in self.of(method))

    def of(self, method):
        """What the client was told or asked by a method."""
        return [event["params"] for event in self.events if event["method"] == method]

    def items(self):
        """The completed items of calls of servers."""
        done = [params["item"] for params in self.of("item/completed")]
        return [item for item in done if item["type"] == "mcpToolCall"]

    def outputs(self):
        """What the model read of each call, from its last request."""
        told = self.model.requests[-1].body["input"]
        return [item["output"] for item in told if item["type"] == "function_call_output"]

    @property
    def offered(self):
        """The names of the tools of the last request."""
        return [tool.get("name", "") for tool in self.model.requests[-1].body["tools"]]


@pytest.fixture
def talk(ferrule_home, model_server):
    """Sessions whose model calls tools of servers."""
    return Talk(ferrule_home, model_server)


@pytest.fixture
def starts(tmp_path):
    """A file that a server writes a line to at every start."""
    file = tmp_path / "starts"
    file.touch()
    return file


@contextmanager
def http_server(port, *arguments):
    """Run the SDK's server on a port, or another one that is given with its arguments."""
    name, *rest = arguments or ("sdk_server.py", "http", port)
    command = [sys.executable, str(SERVERS / name), *map(str, rest)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 120
            while not answers(port):
                assert time.monotonic() < deadline, "the server did not start"
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def answers(port):
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def http():
    """Runs the SDK's server over HTTP: a context manager that takes a port."""
    return http_server


@pytest.fixture
def port():
    """A port that nobody uses."""
    return free_port()
