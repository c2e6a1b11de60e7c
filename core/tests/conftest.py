"""A kernel with the plugins of `kernel_plugins`, driven through its public surface."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

CHECKOUT = Path(__file__).parent / "kernel_plugins"
sys.path.insert(0, str(CHECKOUT / "src"))

from kernel_plugins import stage as the_stage  # noqa: E402 -- found through the line above

from ferrule.host import LocalHost  # noqa: E402
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions  # noqa: E402

CONFIG = """\
model = "test-model"
model_provider = "staged"
approvals_reviewer = "staged"
sandbox_backend = "staged"
approval_policy = "never"
sandbox_mode = "workspace-write"
sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }
[model_providers.staged]
name = "Staged"
wire_api = "staged"
"""


@pytest.fixture
def stage():
    """What the plugins do and saw."""
    the_stage.reset()
    yield the_stage
    the_stage.reset()


@dataclass
class Bench:
    """A home, a workspace and a host."""

    folder: Path
    host: LocalHost
    workspace: Path
    events: list = field(default_factory=list)

    def configure(self, text):
        (self.host.home / "config.toml").write_text(text + "\n" + CONFIG)

    def options(self, kernel, **changes):
        config = kernel.config(ConfigRequest(cwd=str(self.workspace)))
        return ThreadOptions(**({"config": config, "cwd": str(self.workspace)} | changes))

    def run(self, script, **changes):
        """Open a thread, run an async function with it, close it; returns all events."""

        async def main(kernel):
            session = await kernel.threads.start(self.options(kernel, **changes))
            async with anyio.create_task_group() as group:
                group.start_soon(self.read, session)
                await script(session)
                await session.close()
            return session

        return self.host.run(main)

    async def start(self, session, text="go", **params):
        """Submit input."""
        content = [{"type": "text", "text": text}]
        params = {"threadId": session.thread["id"], "input": content} | params
        await session.submit({"id": "1", "method": "turn/start", "params": params})

    async def read(self, session):
        async for event in session.events():
            self.events.append(event)

    def turn(self, text="go", **changes):
        """Run one turn to its end."""

        async def script(session):
            await self.start(session, text)
            await self.until("turn/completed")

        return self.run(script, **changes)

    async def until(self, method, count=1):
        """Wait until that many events of a kind have been read."""
        with anyio.fail_after(20):
            while len(self.of(method)) < count:
                await anyio.sleep(0.001)

    def of(self, method):
        return [event["params"] for event in self.events if event["method"] == method]

    def items(self, type_):
        items = [params["item"] for params in self.of("item/completed")]
        return [item for item in items if item["type"] == type_]

    def outputs(self, stage, request=-1):
        """What the model read back, by call id."""
        sent = stage.requests[request].input
        return {i["call_id"]: i["output"] for i in sent if i["type"].endswith("_output")}


@pytest.fixture
def bench(tmp_path, stage):
    """A kernel to run turns in."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    workspace.mkdir()
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "FERRULE_DEV_PLUGIN": str(CHECKOUT),
    }
    made = Bench(tmp_path, LocalHost(home, environ), workspace)
    made.configure("")
    return made
