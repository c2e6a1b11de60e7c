"""`exec_command`: what the model reads, and what clients see."""

from __future__ import annotations

import re

import anyio
import pytest

from ferrule_hookspecs.errors import ToolArgumentError
from ferrule_hookspecs.sandbox import Denial

pytestmark = pytest.mark.anyio

HEADER = re.compile(
    r"Chunk ID: [0-9a-f]{6}\n"
    r"Wall time: \d+\.\d{4} seconds\n"
    r"(?P<state>Process exited with code \d+|Process running with session ID (?P<session>\d+))\n"
    r"Original token count: (?P<tokens>\d+)\n"
    r"Output:\n"
)


def parts(output: str) -> tuple[str, int, str]:
    """State, token count and body of a result."""
    header = HEADER.match(output)
    assert header, output
    return header["state"], int(header["tokens"]), output[header.end() :]


async def test_a_result_tells_exit_code_tokens_and_output(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("echo hi > out.txt; cat out.txt")
    assert parts(result.output) == ("Process exited with code 0", 1, "hi\n")
    assert result.success
    assert not result.pending


@pytest.mark.parametrize(
    ("cmd", "code"),
    [
        pytest.param("exit 3", 3, id="exit code"),
        pytest.param("kill -TERM $$", 143, id="signal"),
        pytest.param("no-such-program", 127, id="no such program"),
    ],
)
async def test_a_command_that_fails_is_a_failed_item(open_shell, cmd, code):
    async with open_shell() as shell:
        result = await shell.exec(cmd)
    assert f"Process exited with code {code}\n" in result.output
    assert not result.success
    assert (result.item["status"], result.item["exitCode"]) == ("failed", code)


async def test_stdout_and_stderr_are_one_ordered_stream(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("echo out; echo err >&2; echo out2; echo err2 >&2")
    assert parts(result.output)[2] == "out\nerr\nout2\nerr2\n"


async def test_the_item_shows_the_command_from_start_to_end(open_shell, tmp_path):
    async with open_shell() as shell:
        call = shell.call(shell.exec_tool, {"cmd": "echo it's"})
        started = shell.exec_tool.item(call, str(tmp_path))
        result = await shell.exec_tool.run(call, shell.context)
        deltas = [told["delta"] for told in shell.told("item/commandExecution/outputDelta")]
    assert "".join(deltas) == result.item["aggregatedOutput"]
    assert started == {
        "type": "commandExecution",
        "id": "call_1",
        "command": '/bin/bash -lc "echo it\'s"',
        "cwd": str(tmp_path),
        "processId": None,
        "source": "unifiedExecStartup",
        "status": "inProgress",
        "commandActions": [{"type": "unknown", "command": "echo it's"}],
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }
    duration = result.item["durationMs"]
    failed = {"status": "failed", "exitCode": 2, "durationMs": duration}
    assert result.item == {**started, **failed, "aggregatedOutput": result.item["aggregatedOutput"]}
    assert isinstance(duration, int)


async def test_input_is_empty_without_a_terminal(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("read -p 'name? ' x; echo got:$x rc=$?")
    assert parts(result.output)[2] == "got: rc=1\n"


async def test_a_terminal_is_24_by_80(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("test -t 0 && test -t 1 && stty size", tty=True)
    assert parts(result.output)[2] == "24 80\r\n"


async def test_invalid_utf8_becomes_replacement_characters_and_the_rest_passes(open_shell):
    async with open_shell() as shell:
        result = await shell.exec(r"printf 'a\xff\xfeb\x00\x1b[1mc\xe2\x82'")
    assert parts(result.output)[2] == "a\ufffd\ufffdb\x00\x1b[1mc\ufffd"


async def test_workdir_is_relative_to_the_turns_folder(open_shell, tmp_path):
    (tmp_path / "sub").mkdir()
    async with open_shell() as shell:
        result = await shell.exec("pwd", workdir="sub")
    assert parts(result.output)[2] == f"{tmp_path}/sub\n"
    assert result.item["cwd"] == f"{tmp_path}/sub"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            {"workdir": "/nonexistent"},
            "workdir '/nonexistent' does not exist",
            id="workdir",
        ),
        pytest.param({"workdir": "/etc/hosts"}, "workdir '/etc/hosts' is not a folder", id="file"),
        pytest.param(
            {"shell": "no-such-shell"},
            "shell 'no-such-shell' was not found; leave it out to use /bin/bash",
            id="shell",
        ),
        pytest.param({"cmd": "a\0b"}, "could not be started: embedded null byte", id="null byte"),
    ],
)
async def test_what_cannot_be_started_is_said_in_plain_words(open_shell, arguments, message):
    async with open_shell() as shell:
        result = await shell.exec(**{"cmd": "pwd", **arguments})
    assert result.output.startswith("exec_command failed: ")
    assert message in result.output
    assert not result.success
    assert (result.item["status"], result.item["exitCode"]) == ("failed", -1)


async def test_another_shell_is_used_as_named(open_shell):
    async with open_shell() as shell:
        result = await shell.exec("echo $0", shell="/bin/sh")
    assert parts(result.output)[2] == "/bin/sh\n"
    assert result.item["command"] == "/bin/sh -c 'echo $0'"


async def test_the_sandboxs_word_on_a_failure_is_passed_on(open_shell):
    async with open_shell() as shell:
        denied = await shell.exec("echo 'x: Read-only file system'; exit 1")
        fine = await shell.exec("echo 'x: Read-only file system'")
    assert denied.denial == Denial("write", "the sandbox allows no writing there")
    assert fine.denial is None


async def test_calls_run_side_by_side(open_shell, tmp_path):
    async with open_shell() as shell:
        outputs: dict[str, str] = {}

        async def meet(name: str, other: str) -> None:
            wait = f"touch {name}; until test -e {other}; do sleep 0.01; done; echo {name}"
            outputs[name] = parts((await shell.exec(wait)).output)[2]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(meet, "a", "b")
            tasks.start_soon(meet, "b", "a")
    assert outputs == {"a": "a\n", "b": "b\n"}


async def test_leaving_the_sandbox_needs_approval(open_shell):
    async with open_shell() as shell:
        tool, sandbox = shell.exec_tool, shell.context.sandbox
        plain = tool.requirement(shell.call(tool, {"cmd": "ls"}), sandbox)
        arguments = {"cmd": "ls", "sandbox_permissions": "require_escalated"}
        asked = tool.requirement(
            shell.call(tool, {**arguments, "justification": "need it"}), sandbox
        )
        silent = tool.requirement(shell.call(tool, arguments), sandbox)
    assert (plain.kind, plain.escalate) == ("skip", False)
    assert (asked.kind, asked.reason, asked.escalate) == ("approval", "need it", True)
    assert (silent.kind, silent.escalate) == ("approval", True)
    assert silent.reason


async def test_permissions_beyond_the_sandbox_are_those_the_call_names(open_shell):
    async with open_shell() as shell:
        tool, sandbox = shell.exec_tool, shell.context.sandbox
        arguments = {
            "cmd": "ls",
            "workdir": "sub",
            "sandbox_permissions": "with_additional_permissions",
            "additional_permissions": {"file_system": {"write": ["build", "/opt/x"]}},
        }
        requirement = tool.requirement(shell.call(tool, arguments), sandbox)
    assert not requirement.escalate
    assert requirement.permissions is not None
    folder = f"{sandbox.policy.cwd}/sub/build"
    assert requirement.permissions == (False, (), (folder, "/opt/x"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({}, "missing field `cmd`", id="missing"),
        pytest.param({"cmd": 1}, "`cmd` must be a string, not 1", id="text"),
        pytest.param({"cmd": "ls", "tty": "yes"}, "`tty` must be true or false", id="flag"),
        pytest.param({"cmd": "ls", "yield_time_ms": -1}, "`yield_time_ms` must be", id="count"),
        pytest.param(
            {"cmd": "ls", "sandbox_permissions": "all"},
            "must be one of use_default, require_escalated, with_additional_permissions, not 'all'",
            id="choice",
        ),
        pytest.param(
            {"cmd": "ls", "sandbox_permissions": "with_additional_permissions"},
            "missing field `additional_permissions`",
            id="no permissions",
        ),
        pytest.param(
            {"cmd": "ls", "additional_permissions": {"network": {"enabled": True}}},
            "needs `sandbox_permissions` to be with_additional_permissions",
            id="permissions unasked",
        ),
        pytest.param({"cmd": "ls", "prefix_rule": [1]}, "must be a list of strings", id="list"),
    ],
)
async def test_wrong_arguments_name_the_field(open_shell, arguments, message):
    async with open_shell() as shell:
        with pytest.raises(
            ToolArgumentError, match="failed to parse function arguments: "
        ) as error:
            shell.exec_tool.normalize(arguments)
    assert message in str(error.value)


async def test_defaults_are_filled_in_and_unknown_arguments_left_out(open_shell):
    async with open_shell() as shell:
        checked = shell.exec_tool.normalize({"cmd": "ls", "workdir": None, "colour": "red"})
    assert checked == {
        "cmd": "ls",
        "login": True,
        "tty": False,
        "yield_time_ms": 10_000,
        "max_output_tokens": 10_000,
        "sandbox_permissions": "use_default",
    }


async def test_an_interrupted_turn_ends_its_command_and_nothing_more_is_told(open_shell, survivors):
    async with open_shell() as shell:
        with anyio.move_on_after(0.3):
            await shell.exec("while echo line; do sleep 0.01; done")
        told = len(shell.context.events)
        with anyio.fail_after(120):
            while survivors():
                await anyio.sleep(0.005)
    assert len(shell.context.events) == told
