"""Sessions with hooks: in this process, and whole runs of `ferrule exec`."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from ferrule_hooks import plugin
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall, TurnInfo


@pytest.fixture
def anyio_backend():
    return "asyncio"


def group(command, matcher=None, **keys):
    """One group with one command."""
    hook = {"type": "command", "command": command, **keys}
    return {"hooks": [hook]} if matcher is None else {"matcher": matcher, "hooks": [hook]}


@dataclass
class Place:
    """Folders of an administrator, a user and a project, and a session in them."""

    folder: os.PathLike
    warnings: list = field(default_factory=list)
    config: dict = field(default_factory=dict)
    is_trusted: bool = True
    is_bypassed: bool = True

    def __post_init__(self):
        for name in ("admin", "home", "ws/.ferrule"):
            (self.folder / name).mkdir(parents=True)

    @property
    def home(self):
        return self.folder / "home"

    @property
    def ws(self):
        return self.folder / "ws"

    def write(self, where, hooks):
        """Write a hooks.json: `home`, `admin` or `ws/.ferrule`."""
        path = self.folder / where / "hooks.json"
        path.write_text(json.dumps({"hooks": hooks}))
        return path

    def script(self, name, text):
        """Write a script into the project."""
        path = self.ws / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return path

    def context(self, thread="t1"):
        hooks = {"dangerously_bypass_trust": True} if self.is_bypassed else {}
        return PluginContext(
            self.home,
            {"model": "m", "approval_policy": "on-request", "hooks": hooks, **self.config},
            str(self.ws),
            thread,
            dict(os.environ),
            project_root=str(self.ws),
            is_trusted=self.is_trusted,
            admin=self.folder / "admin",
            warn=self.warnings.append,
            thread_file="/rollout.jsonl",
        )

    def turn(self, **changes):
        facts = {"thread_id": "t1", "turn_id": "u1", "cwd": str(self.ws), "model": "m", **changes}
        return TurnInfo(**facts)

    @asynccontextmanager
    async def session(self):
        await plugin.ferrule_session_start(self.context(), "startup")
        try:
            yield plugin
        finally:
            await plugin.ferrule_session_end(self.context(), "closed")

    async def before(self, call):
        """Take a call through rewriting and judging, as the kernel does."""
        changed = await plugin.ferrule_tool_rewrite(call, self.turn())
        call = changed or call
        verdict = await plugin.ferrule_tool_before(call, self.turn(), self.context())
        return call, verdict

    def told(self, name):
        """What a hook wrote to a file of the project, as JSON."""
        return json.loads((self.ws / name).read_text())


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture
def hook():
    return group


@pytest.fixture
def bash():
    def call(command, call_id="c1", **arguments):
        arguments = {
            "cmd": command,
            "login": True,
            "tty": False,
            "yield_time_ms": 1000,
            "max_output_tokens": 100,
            "sandbox_permissions": "use_default",
            **arguments,
        }
        return ToolCall(call_id, "exec_command", arguments, json.dumps(arguments), "function")

    return call


@pytest.fixture
def patch():
    def call(text):
        return ToolCall("c1", "apply_patch", {}, text, "freeform")

    return call


@pytest.fixture
def says():
    """The command line of a hook that answers with JSON."""

    def line(**answer):
        return "cat > /dev/null; cat <<'END'\n" + json.dumps(answer) + "\nEND"

    return line
