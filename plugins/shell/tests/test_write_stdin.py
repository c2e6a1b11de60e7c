"""Commands that outlive their call: polling, typing, interrupting, and their end."""

from __future__ import annotations

import os
import re
import sys

import anyio
import pytest

from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_shell import terminals

pytestmark = pytest.mark.anyio


def session_of(result) -> int:
    found = re.search(r"^Process running with session ID (\d+)$", result.output, re.MULTILINE)
    assert found, result.output
    return int(found[1])


def body(result) -> str:
    return result.output.split("Output:\n", 1)[1]


async def completed(shell) -> dict:
    """Await the item's completion that is told as an event."""
    with anyio.fail_after(120):
        while not shell.told("item/completed"):
            await anyio.sleep(0.005)
    (told,) = shell.told("item/completed")
    return told["item"]


async def test_a_command_that_takes_longer_is_polled(open_shell):
    async with open_shell() as shell:
        first = await shell.exec("echo one; sleep 0.6; echo two; exit 4", yield_time_ms=250)
        assert body(first) == "one\n"
        assert first.pending
        assert first.item is None
        second = await shell.write(session_of(first))
        assert "Process exited with code 4\n" in second.output
        assert body(second) == "two\n"
        item = await completed(shell)
    assert (item["id"], item["status"], item["exitCode"]) == ("call_1", "failed", 4)
    assert item["aggregatedOutput"] == "one\ntwo\n"
    assert item["processId"] == str(session_of(first))


async def test_the_yield_time_is_at_least_a_quarter_of_a_second(open_shell):
    async with open_shell() as shell:
        assert body(await shell.exec("sleep 0.1; echo done", yield_time_ms=1)) == "done\n"


async def test_a_poll_ends_with_the_command(open_shell):
    async with open_shell() as shell:
        first = await shell.exec("sleep 0.5; echo x", yield_time_ms=250)
        with anyio.fail_after(4):  # less than the shortest poll
            second = await shell.write(session_of(first), yield_time_ms=1)
    assert body(second) == "x\n"


async def test_the_longest_poll_is_configured(open_shell):
    async with open_shell({"background_terminal_max_timeout": 300}) as shell:
        first = await shell.exec("sleep 600", yield_time_ms=250)
        with anyio.fail_after(4):
            second = await shell.write(session_of(first), yield_time_ms=200_000)
        assert session_of(second) == session_of(first)


async def test_a_program_in_a_terminal_is_typed_to(open_shell):
    async with open_shell() as shell:
        first = await shell.exec(f"{sys.executable} -q -i", tty=True, yield_time_ms=1500)
        session = session_of(first)
        assert body(first) == ">>> "
        second = await shell.write(session, "print(6*7)\n", yield_time_ms=500)
        assert body(second) == "print(6*7)\r\n42\r\n>>> "
        third = await shell.write(session, "exit()\n", yield_time_ms=5000)
        assert "Process exited with code 0\n" in third.output
        item = await completed(shell)
        typed = [told["stdin"] for told in shell.told("item/commandExecution/terminalInteraction")]
    assert typed == ["print(6*7)\n", "exit()\n"]
    assert item["status"] == "completed"
    assert item["aggregatedOutput"] == ">>> print(6*7)\r\n42\r\n>>> exit()\r\n"


@pytest.mark.parametrize("tty", [True, False], ids=["terminal", "pipe"])
async def test_ctrl_c_interrupts(open_shell, tty):
    async with open_shell() as shell:
        first = await shell.exec("sleep 600", tty=tty, yield_time_ms=250)
        second = await shell.write(session_of(first), "\x03", yield_time_ms=5000)
    assert "Process exited with code 130\n" in second.output
    assert body(second) == ("^C" if tty else "")


async def test_typing_without_a_terminal_is_explained(open_shell):
    async with open_shell() as shell:
        session = session_of(await shell.exec("sleep 600", yield_time_ms=250))
        with pytest.raises(ToolError) as error:
            await shell.write(session, "text")
    assert str(error.value) == (
        f"write_stdin failed: stdin of session {session} is closed because the command was "
        "started without a terminal; start it again with tty set to true"
    )


async def test_an_unknown_session_is_an_error(open_shell):
    async with open_shell() as shell:
        with pytest.raises(ToolError, match=r"^write_stdin failed: Unknown process id 99999$"):
            await shell.write(99999, "x")


async def test_an_ended_command_is_forgotten_once_its_end_was_read(open_shell):
    async with open_shell() as shell:
        session = session_of(await shell.exec("sleep 0.3", yield_time_ms=250))
        await shell.write(session)
        with pytest.raises(ToolError, match="Unknown process id"):
            await shell.write(session)


async def test_an_end_nobody_waits_for_is_told_at_once_and_read_later(open_shell):
    async with open_shell() as shell:
        session = session_of(await shell.exec("sleep 0.4; echo late", yield_time_ms=250))
        item = await completed(shell)
        assert item["aggregatedOutput"] == "late\n"
        assert body(await shell.write(session)) == "late\n"
        assert len(shell.told("item/completed")) == 1


async def test_a_character_cut_by_a_poll_is_shown_whole(open_shell):
    script = r"printf 'a\xc3'; sleep 0.6; printf '\xa9b'"
    async with open_shell() as shell:
        first = await shell.exec(script, yield_time_ms=250)
        second = await shell.write(session_of(first))
        item = await completed(shell)
    assert (body(first), body(second)) == ("a", "éb")
    assert item["aggregatedOutput"] == "aéb"


async def test_the_sessions_end_ends_commands_and_completes_their_items(open_shell, survivors):
    async with open_shell() as shell:
        await shell.exec("trap '' TERM INT; echo hi; sleep 600 & sleep 600", yield_time_ms=250)
        await shell.exec("setsid sleep 600 & sleep 600", yield_time_ms=250)
        assert survivors()
        assert shell.told("item/completed") == []
        await shell.aclose()
        items = [told["item"] for told in shell.told("item/completed")]
    assert [(item["status"], item["exitCode"]) for item in items] == [("failed", -1)] * 2
    assert sorted(item["aggregatedOutput"] for item in items) == ["", "hi\n"]
    assert survivors() == []


async def test_a_poll_that_is_cancelled_leaves_the_command_alone(open_shell):
    async with open_shell() as shell:
        session = session_of(await shell.exec("sleep 1; echo done", yield_time_ms=250))
        with anyio.move_on_after(0.01):
            await shell.write(session)
        assert body(await shell.write(session)) == "done\n"


async def test_too_many_commands_end_the_least_recently_used_and_say_so(open_shell, monkeypatch):
    monkeypatch.setattr(terminals, "LIMIT", 2)
    async with open_shell({"background_terminal_max_timeout": 10}) as shell:
        first = session_of(await shell.exec("sleep 600 # 1", yield_time_ms=250))
        second = session_of(await shell.exec("sleep 600 # 2", yield_time_ms=250))
        await shell.write(first)
        third = await shell.exec("sleep 600 # 3", yield_time_ms=250)
        assert (
            f"Session {second} was ended, because at most 2 commands can be kept: "
            "/bin/bash -c 'sleep 600 # 2'\n"
        ) in third.output
        item = await completed(shell)
        assert (item["id"], item["status"], item["exitCode"]) == ("call_2", "failed", -1)
        assert "was ended" not in (await shell.write(first)).output
        with pytest.raises(ToolError, match="Unknown process id"):
            await shell.write(second)


async def test_an_ended_command_makes_room_before_a_running_one(open_shell, monkeypatch):
    monkeypatch.setattr(terminals, "LIMIT", 1)
    async with open_shell({"background_terminal_max_timeout": 10}) as shell:
        ended = session_of(await shell.exec("sleep 0.4", yield_time_ms=250))
        await completed(shell)
        result = await shell.exec("sleep 600", yield_time_ms=250)
        assert f"Session {ended} had ended and was forgotten" in result.output
        assert session_of(await shell.write(session_of(result))) == session_of(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({}, "missing field `session_id`", id="missing"),
        pytest.param({"session_id": "abc"}, "`session_id` must be a whole number", id="number"),
        pytest.param({"session_id": 1, "chars": 5}, "`chars` must be a string", id="text"),
    ],
)
async def test_wrong_arguments_name_the_field(open_shell, arguments, message):
    async with open_shell() as shell:
        with pytest.raises(ToolArgumentError) as error:
            shell.stdin_tool.normalize(arguments)
    assert message in str(error.value)


async def test_it_shows_no_item_of_its_own(open_shell):
    async with open_shell() as shell:
        call = shell.call(shell.stdin_tool, {"session_id": 1})
        assert shell.stdin_tool.item(call, "/") is None


async def test_no_descriptor_stays_open(open_shell):
    async with open_shell() as shell:
        await shell.exec("true", login=True)
        before = len(os.listdir("/proc/self/fd"))
        for tty in (True, False):
            await shell.exec("echo text", tty=tty)
            first = await shell.exec("sleep 600", tty=tty, yield_time_ms=250)
            await shell.write(session_of(first), "\x03", yield_time_ms=5000)
        assert len(os.listdir("/proc/self/fd")) == before
