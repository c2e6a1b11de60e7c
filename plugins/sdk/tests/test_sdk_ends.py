"""How conversations end when they do not end well: nothing is left, and the reason is told."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import anyio
import pytest

from ferrule_sdk import ConnectionLostError, Ferrule
from ferrule_testkit.model_items import function_call, message

SLEEP = [function_call("exec_command", {"cmd": "echo on; sleep 1000"})]
needs_proc = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")


async def started(turn_or_stream):
    async for event in turn_or_stream:
        if event["method"] == "item/commandExecution/outputDelta":
            return


@needs_proc
def test_a_cancelled_run_interrupts_its_turn(clients, model_server, run):
    model_server.play([SLEEP])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            thread = await f.thread()
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:

                    async def cancel():
                        async for event in f.notifications():
                            if event["method"] == "item/commandExecution/outputDelta":
                                scope.cancel()

                    group.start_soon(cancel)
                    await thread.run("Sleep")
            assert scope.cancelled_caught
            return (await thread.read())["turns"], clients.leftovers()

    turns, leftovers = run(main)

    assert [turn["status"] for turn in turns] == ["interrupted"]
    assert [words for words in leftovers if "sleep" in words] == []


def test_leaving_a_stream_early_interrupts_its_turn(clients, model_server, run):
    model_server.play([SLEEP])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            thread = await f.thread()
            stream = thread.stream("Sleep")
            await started(stream)
            await stream.aclose()
            return (await thread.read())["turns"]

    assert [turn["status"] for turn in run(main)] == ["interrupted"]


@needs_proc
@pytest.mark.parametrize("clients", ["in-process", "stdio"], indirect=True)
def test_closing_in_the_middle_of_a_turn_leaves_nothing_running(clients, model_server, run):
    model_server.play([SLEEP])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            turn = await (await f.thread()).start("Sleep")
            await started(turn)
        with pytest.raises(ConnectionLostError, match="closed"):
            await turn.result()

    run(main)

    assert clients.leftovers() == []


@pytest.mark.parametrize("clients", ["unix", "websocket", "http"], indirect=True)
def test_a_server_that_runs_on_keeps_the_turn_for_whoever_comes_back(clients, model_server, run):
    wait = {"cmd": "echo on; until [ -e go ]; do sleep 0.02; done"}
    model_server.play([[function_call("exec_command", wait)], [message("Done")]])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            thread = await f.thread()
            await started(await thread.start("Wait"))
        async with clients() as f:
            thread = await f.resume(thread.id)
            turn = thread.running
            assert turn is not None
            await anyio.Path(clients.home.workspace / "go").touch()
            return await turn.result()

    result = run(main)

    assert result.status == "completed"
    assert result.text == "Done"


@pytest.mark.parametrize("clients", ["unix", "websocket", "http"], indirect=True)
def test_a_server_that_is_killed_is_told_as_a_lost_connection(clients, model_server, run):
    model_server.play([SLEEP])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            turn = await (await f.thread()).start("Sleep")
            await started(turn)
            clients.server.kill()
            with pytest.raises(ConnectionLostError, match="connection to"):
                await turn.result()
            with pytest.raises(ConnectionLostError):
                await f.models()

    run(main)


@needs_proc
@pytest.mark.parametrize("clients", ["stdio"], indirect=True)
def test_a_child_that_is_killed_is_told_with_its_signal(clients, model_server, run):
    model_server.play([SLEEP])

    async def main():
        async with clients(config={"approval_policy": "never"}) as f:
            turn = await (await f.thread()).start("Sleep")
            await started(turn)
            for entry in Path("/proc/self/task").iterdir():
                with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
                    for child in (entry / "children").read_text().split():
                        if b"app-server" in Path(f"/proc/{child}/cmdline").read_bytes():
                            os.kill(int(child), signal.SIGKILL)
            with pytest.raises(ConnectionLostError, match=r"app-server .* was ended by SIGKILL"):
                await turn.result()

    run(main)


def test_a_program_that_is_no_server_is_told_with_what_it_said(run):
    async def main():
        command = ["sh", "-c", "echo no such luck >&2; exit 3"]
        async with Ferrule(channel=command):
            pass

    with pytest.raises(ConnectionLostError, match="ended with exit code 3: no such luck"):
        run(main)


def test_a_program_that_is_not_there(run):
    async def main():
        async with Ferrule(channel=["/no/such/program"]):
            pass

    with pytest.raises(ConnectionLostError, match="'/no/such/program' cannot be started"):
        run(main)


@pytest.mark.parametrize(
    "url", ["ws://127.0.0.1:9", "http://127.0.0.1:9", "unix:///no/such/socket"]
)
def test_nobody_answers(url, run):
    async def main():
        async with Ferrule(channel=url):
            pass

    with pytest.raises(ConnectionLostError, match=f"cannot connect to {url}"):
        run(main)


def test_what_the_block_raises_comes_out_bare(clients, run):
    async def main():
        async with clients():
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(main)


def test_a_configuration_that_is_wrong_is_told(ferrule_home, run):
    (ferrule_home.path / "config.toml").write_text("model = 5\n")

    async def main():
        async with Ferrule(home=ferrule_home.path, environ=ferrule_home.environ):
            pass

    with pytest.raises(Exception, match="model"):
        run(main)
