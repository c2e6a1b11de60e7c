"""A server that dies in the middle of turns loses nothing that it told its clients."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from ferrule_sdk import ConnectionLostError, Ferrule, Thread
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.processes import survivors

COMMANDS = 12
KILLS = 8


@contextmanager
def served(home, socket: Path) -> Iterator[subprocess.Popen[str]]:
    """A server on a unix socket; whoever uses it ends it."""
    argv = home.command(["app-server", "--listen", f"unix://{socket}"])
    environ = {**home.environ, "FERRULE_HOME": str(home.path)}
    with subprocess.Popen(
        argv, env=environ, cwd=home.workspace, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            while not re.search("listening on: ", line := server.stderr.readline()):
                assert line, "the server ended"
            yield server
        finally:
            server.kill()


def script(turns: int) -> list[object]:
    commands = [
        [function_call("exec_command", {"cmd": f"echo {n}"}, call_id=f"call_{n}")]
        for n in range(COMMANDS)
    ]
    return [*commands, [message("done")]] * turns


async def watch(client: Ferrule, told: list[tuple[str, str]]) -> None:
    """Note every item that was completed, until the server is gone."""
    with contextlib.suppress(ConnectionLostError):
        async for event in client.notifications():
            if event["method"] == "item/completed":
                told.append((event["params"]["turnId"], event["params"]["item"]["id"]))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("after", [1 + 3 * n for n in range(KILLS)])
def test_what_clients_were_told_is_there_after_a_kill(
    ferrule_home, model_server, socket_folder, after
):
    """Two clients are attached; the server is killed once one of them has seen `after` items."""
    model_server.play(script(turns=3))
    socket = socket_folder / "server.sock"

    async def until_killed(
        server: subprocess.Popen[str],
    ) -> tuple[str, list[list[tuple[str, str]]]]:
        told: list[list[tuple[str, str]]] = [[], []]
        async with Ferrule(channel=f"unix://{socket}") as one:
            thread = await one.thread(cwd=ferrule_home.workspace)
            async with (
                Ferrule(channel=f"unix://{socket}") as two,
                anyio.create_task_group() as group,
            ):
                group.start_soon(watch, one, told[0])
                group.start_soon(watch, two, told[1])
                with contextlib.suppress(ConnectionLostError):
                    await talk(thread, two, lambda: len(told[0]) >= after and server.kill())
        return thread.id, told

    async def talk(thread: Thread, other: Ferrule, look: Callable[[], object]) -> None:
        turn = await thread.start("first")
        await other.resume(thread.id)
        for text in ("second", "third"):
            async for _ in turn.events():
                look()
            turn = await thread.start(text)
        async for _ in turn.events():
            look()

    async def timeline(thread_id: str) -> dict[str, set[str]]:
        async with Ferrule(channel=f"unix://{socket}") as client:
            thread = await client.resume(thread_id)
            turns = (await thread.read())["turns"]
            assert (await thread.run("go on")).status == "completed"
            return {turn["id"]: {item["id"] for item in turn["items"]} for turn in turns}

    with served(ferrule_home, socket) as server:
        thread_id, told = anyio.run(until_killed, server)
        assert server.wait() == -signal.SIGKILL
    assert len(told[0]) >= after
    model_server.play([[message("gone on")]])
    with served(ferrule_home, socket) as server:
        kept = anyio.run(timeline, thread_id)
        server.terminate()
        assert server.wait(120) == 0
    assert [each for seen in told for each in seen if each[1] not in kept[each[0]]] == []
    assert survivors(f"FERRULE_HOME={ferrule_home.path}") == {}


def test_sigterm_ends_turns_in_good_order(ferrule_home, model_server, socket_folder):
    """The running turn is interrupted and stored, its command ended, and the exit status is 0."""
    begun = ferrule_home.workspace / "begun"
    long = {"cmd": f"touch {begun}; sleep 60", "yield_time_ms": 30000}
    model_server.play([[function_call("exec_command", long)], [message("never")]])
    socket = socket_folder / "server.sock"

    async def converse(server: subprocess.Popen[str]) -> tuple[str, list[str]]:
        seen = []
        async with Ferrule(channel=f"unix://{socket}") as client:
            thread = await client.thread(cwd=ferrule_home.workspace)
            turn = await thread.start("go")
            while not begun.exists():
                await anyio.sleep(0.02)
            server.terminate()
            with contextlib.suppress(ConnectionLostError):
                async for event in turn.events():
                    seen.append(event["method"])
        return thread.id, seen

    with served(ferrule_home, socket) as server:
        thread_id, seen = anyio.run(converse, server)
        assert server.wait(120) == 0
    assert seen[-1] == "turn/completed"
    with served(ferrule_home, socket) as server:

        async def read() -> list[str]:
            async with Ferrule(channel=f"unix://{socket}") as client:
                reply = await client.call(
                    "thread/read", {"threadId": thread_id, "includeTurns": True}
                )
                return [turn["status"] for turn in reply["thread"]["turns"]]

        assert anyio.run(read) == ["interrupted"]
    assert survivors(f"FERRULE_HOME={ferrule_home.path}") == {}
