"""A kernel in somebody else's event loop and process."""

import os
import subprocess

import anyio
import pytest

from ferrule.embedding import open_kernel
from ferrule.lineage import process_table
from ferrule_hookspecs.host import ConfigRequest, ThreadOptions
from ferrule_testkit.model_items import function_call, message

TURN = {"method": "turn/start", "params": {"input": [{"type": "text", "text": "go"}]}}


def children():
    ours = os.getpid()
    return {facts.pid for facts in process_table() if facts.parent == ours}


@pytest.fixture(autouse=True)
def orphans_go_elsewhere(ordinary_process):
    """What these tests start is told from what comes back to this process."""


async def one_turn(kernel, home):
    request = ConfigRequest(cwd=str(home.workspace))
    options = ThreadOptions(kernel.config(request), str(home.workspace), ephemeral=True)
    session = await kernel.threads.start(options)
    await session.perform(TURN)
    async for event in session.events():
        if event["method"] == "turn/completed":
            return event["params"]["turn"]
    raise AssertionError("the session ended before its turn")


def test_a_turn_runs_in_the_event_loop_of_the_caller(ferrule_home, model_server):
    model_server.play([[message("Hello")]])

    async def main():
        async with open_kernel(ferrule_home.path, ferrule_home.environ) as kernel:
            return await one_turn(kernel, ferrule_home)

    assert anyio.run(main)["status"] == "completed"


def test_what_the_block_raises_comes_out_bare(ferrule_home):
    async def main():
        async with open_kernel(ferrule_home.path, ferrule_home.environ):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        anyio.run(main)


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="needs /proc")
def test_children_of_the_program_are_left_alone_and_those_of_commands_are_not(
    ferrule_home, model_server
):
    escape = "setsid sleep 1000 >/dev/null 2>&1 </dev/null & sleep 0.2"
    model_server.play([[function_call("exec_command", {"cmd": escape})], [message("Done")]])
    ferrule_home.configure(tables='[shell_environment_policy]\ninherit = "core"')
    config = (ferrule_home.path / "config.toml").read_text()
    (ferrule_home.path / "config.toml").write_text(
        config.replace('"workspace-write"', '"danger-full-access"')
    )
    mine = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    ended = subprocess.Popen(["false"], start_new_session=True)
    before = children()

    async def main():
        async with open_kernel(ferrule_home.path, ferrule_home.environ) as kernel:
            return await one_turn(kernel, ferrule_home)

    try:
        assert anyio.run(main)["status"] == "completed"
        assert mine.poll() is None
        assert ended.wait() == 1
        assert children() - before == set()
    finally:
        mine.kill()
        mine.wait()


def test_a_cancelled_block_leaves_nothing(ferrule_home, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "sleep 1000"})]])
    before = children()

    async def main():
        with anyio.move_on_after(20) as scope:
            async with (
                open_kernel(ferrule_home.path, ferrule_home.environ) as kernel,
                anyio.create_task_group() as group,
            ):
                group.start_soon(one_turn, kernel, ferrule_home)
                while not kernel.owner.alive():
                    await anyio.sleep(0.01)
                scope.cancel()
        return scope.cancelled_caught

    assert anyio.run(main)
    assert children() - before == set()
