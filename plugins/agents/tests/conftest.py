"""A scripted model that several threads ask at the same time, each known by its task."""

import json
import subprocess
import time
from contextlib import contextmanager

import pytest

from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.processes import survivors

PATIENCE_S = 120
AGENT_ID = "{{re:agent_id[^0-9a-f]+([0-9a-f-]{36})}}"


def spawn(text, call_id="call_spawn", **arguments):
    """A call that starts an agent."""
    return function_call("spawn_agent", {"message": text, **arguments}, call_id=call_id)


def wait_for(*ids, call_id="call_wait", timeout_ms=600_000):
    """A call that waits for agents."""
    arguments = {"targets": list(ids or [AGENT_ID]), "timeout_ms": timeout_ms}
    return function_call("wait_agent", arguments, call_id=call_id)


class Play:
    """What the model says: to requests of an agent by the words of its task, else to the root."""

    def __init__(self, home, server):
        self.home = home
        self.server = server
        self.hooks = {}

    def write_hooks(self):
        """Write the hooks and trust them."""
        (self.home.path / "hooks.json").write_text(json.dumps({"hooks": self.hooks}))
        trusted = self.home.run("hooks", "trust", "--all")
        assert trusted.returncode == 0, trusted.stderr

    def configure(self, **changes):
        self.home.configure(**{"top": "", **changes})

    def script(self, *turns, **routes):
        """Give the turns of the root, and those of agents by a word of their task."""
        self.server.play(
            {
                "turns": list(turns),
                "routes": [
                    {"contains": f'"text":"{word}', "turns": said} for word, said in routes.items()
                ],
            }
        )

    def run(self, *arguments):
        return self.home.run("exec", "--json", *arguments, "go", timeout=PATIENCE_S)

    @contextmanager
    def running(self, *arguments):
        """A run as a process; it is killed at the end, unless it has ended."""
        process = subprocess.Popen(
            self.home.command(["exec", "--json", *arguments, "go"]),
            cwd=self.home.workspace,
            env=self.home.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def outputs(self, request):
        """What the model read back of its calls, by call id."""
        return {
            item["call_id"]: item["output"]
            for item in request.body["input"]
            if item["type"].endswith("_output")
        }

    def answer(self, call_id):
        """What the model read back of a call; None while it has not."""
        outputs = (self.outputs(request).get(call_id) for request in self.server.requests)
        return next((output for output in outputs if output is not None), None)

    def of(self, word):
        """The requests of the agent whose task begins with a word."""
        return [each for each in self.server.requests if f'"text":"{word}'.encode() in each.raw]

    def told(self):
        """All notes about agents that came to an end, as the model read them."""
        items = self.server.requests[-1].body["input"]
        messages = [item for item in items if item["type"] == "message"]
        texts = [part["text"] for item in messages for part in item["content"]]
        return [
            json.loads(text.splitlines()[1])
            for text in texts
            if text.startswith("<subagent_notification>")
        ]

    def until(self, condition):
        """Wait until something holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "it never came to pass"
            time.sleep(0.02)

    def leftovers(self):
        return survivors(f"FERRULE_HOME={self.home.path}")


@pytest.fixture
def play(ferrule_home, model_server):
    """A home and its scripted model."""
    return Play(ferrule_home, model_server)


@pytest.fixture
def say():
    """Short ways to write what the model says."""
    return type(
        "Say",
        (),
        {
            "spawn": staticmethod(spawn),
            "wait": staticmethod(wait_for),
            "call": staticmethod(function_call),
            "text": staticmethod(message),
            "AGENT_ID": AGENT_ID,
        },
    )
