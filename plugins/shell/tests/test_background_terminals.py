"""Clients of a server see and end the commands that a thread left running."""

from __future__ import annotations

from types import SimpleNamespace

import anyio
import pytest

from ferrule_shell.hooks import ferrule_rpc_methods

PREFIX = "thread/backgroundTerminals"
SHORT = 250


async def ask(shell, method: str, **params):
    methods = {each.name: each for each in ferrule_rpc_methods(context=None)}
    about = {"threadId": shell.thread_id, **params}
    return await methods[f"{PREFIX}/{method}"].handler(SimpleNamespace(params=about))


async def ended(shell, count: int) -> list[dict]:
    with anyio.fail_after(120):
        while len(told := shell.told("item/completed")) < count:
            await anyio.sleep(0.01)
    return [params["item"] for params in told]


@pytest.mark.anyio
async def test_commands_that_run_on_are_listed_and_ended(open_shell):
    async with open_shell() as shell:
        for script in ("sleep 600", "sleep 'a' 2>/dev/null; sleep 601"):
            await shell.exec(script, yield_time_ms=SHORT)
        first, second = (await ask(shell, "list"))["data"]
        assert [first["command"], second["command"]] == [
            "sleep 600",
            "sleep 'a' 2>/dev/null; sleep 601",
        ]
        assert first["itemId"] == "call_1"
        number = first["processId"]
        assert await ask(shell, "terminate", processId=number) == {"terminated": True}
        (item,) = await ended(shell, 1)
        assert (item["id"], item["status"], item["exitCode"]) == ("call_1", "failed", -1)
        assert await ask(shell, "terminate", processId=number) == {"terminated": False}
        assert (await ask(shell, "list"))["data"] == [second]
        assert await ask(shell, "clean") == {}
        assert [item["id"] for item in await ended(shell, 2)] == ["call_1", "call_2"]
        assert (await ask(shell, "list"))["data"] == []


@pytest.mark.anyio
async def test_the_model_reads_that_a_client_ended_its_command(open_shell):
    async with open_shell() as shell:
        await shell.exec("sleep 600", yield_time_ms=SHORT)
        (listed,) = (await ask(shell, "list"))["data"]
        await ask(shell, "clean")
        result = await shell.write(int(listed["processId"]))
        assert "Process exited with code 137" in result.output


@pytest.mark.anyio
async def test_other_threads_are_left_alone(open_shell):
    async with open_shell() as shell, open_shell() as other:
        await shell.exec("sleep 600", yield_time_ms=SHORT)
        assert (await ask(other, "list"))["data"] == []
        await ask(other, "clean")
        assert len((await ask(shell, "list"))["data"]) == 1
