"""A command line that the user typed: run to its end, shown as the user's."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.anyio


def typed(shell, line, timeout_ms=None):
    call = shell.exec_tool.user_command(line, timeout_ms)
    return call._replace(call_id="u1")


async def test_it_is_shown_as_the_user_s(open_shell):
    async with open_shell() as shell:
        item = shell.exec_tool.item(typed(shell, "echo hi"), "/work")

    assert item["source"] == "userShell"
    assert item["command"].endswith("-lc 'echo hi'")


async def test_a_model_cannot_pass_for_the_user(open_shell):
    async with open_shell() as shell:
        call = shell.call(shell.exec_tool, {"cmd": "echo hi", "timeout_ms": 5})

        assert shell.exec_tool.item(call, "/work")["source"] == "unifiedExecStartup"


async def test_its_output_is_streamed_and_its_exit_code_told(open_shell):
    async with open_shell() as shell:
        result = await shell.exec_tool.run(typed(shell, "echo user-shell; exit 2"), shell.context)
        deltas = shell.told("item/commandExecution/outputDelta")

    assert [delta["delta"] for delta in deltas] == ["user-shell\n"]
    assert result.item["exitCode"] == 2
    assert result.item["status"] == "failed"
    assert "user-shell" in result.output


async def test_it_is_ended_when_its_time_is_over_and_never_left_running(open_shell):
    async with open_shell() as shell:
        result = await shell.exec_tool.run(typed(shell, "echo a; sleep 600", 300), shell.context)

    assert not result.pending
    assert result.item["status"] == "failed"
    assert result.item["aggregatedOutput"] == "a\n"
    assert "longer than 0.3 s" in result.output
