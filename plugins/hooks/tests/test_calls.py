"""What hooks do to tool calls, with real commands."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.review import ReviewRequest, Verdict
from ferrule_hookspecs.tools import ToolCall, ToolResult
from ferrule_testkit.processes import survivors

pytestmark = pytest.mark.anyio


def command_result(output, code):
    item = {"type": "commandExecution", "aggregatedOutput": output, "exitCode": code}
    return ToolResult("for the model: " + output, code == 0, item)


async def ended(pid):
    """Wait until a process is gone."""
    with anyio.fail_after(120):
        while True:
            try:
                os.kill(pid, 0)
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except (ProcessLookupError, FileNotFoundError):
                return
            if state == "Z":
                return
            await anyio.sleep(0.01)


async def test_exit_code_2_refuses_with_the_reason(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("cat >/dev/null; echo no way >&2; exit 2", "Bash")]})
    async with place.session():
        _, verdict = await place.before(bash("echo hi"))
    assert verdict.decision == "deny"
    assert verdict.reason == "Command blocked by PreToolUse hook: no way. Command: echo hi"


async def test_commands_are_told_with_folder_and_escalation(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("cat > told.json")]})
    call = bash(
        "id", workdir="sub", sandbox_permissions="require_escalated", justification="why not"
    )
    async with place.session():
        await place.before(call)
    told = place.told("told.json")
    assert told["tool_name"] == "Bash"
    assert told["tool_input"] == {
        "command": "id",
        "cwd": str(place.ws / "sub"),
        "escalated": True,
        "description": "why not",
    }


async def test_patches_go_by_their_name_and_by_edit_and_write(place, hook, patch):
    place.write("home", {"PreToolUse": [hook("cat > told.json; exit 2", "Write|Edit")]})
    async with place.session():
        _, verdict = await place.before(patch("*** Begin Patch"))
    assert verdict.reason.startswith("Tool call blocked by PreToolUse hook")
    told = place.told("told.json")
    assert told["tool_name"] == "apply_patch"
    assert told["tool_input"] == {"command": "*** Begin Patch"}


async def test_what_is_typed_into_a_running_shell_is_shown_to_guards_of_commands(place, hook):
    place.write("home", {"PreToolUse": [hook("grep -q 'rm -rf' && exit 2; exit 0", "Bash")]})

    def typed(chars):
        arguments = {"session_id": 1, "chars": chars}
        return ToolCall("c1", "write_stdin", arguments, json.dumps(arguments), "function")

    async with place.session():
        assert (await place.before(typed("rm -rf /\n")))[1].decision == "deny"
        assert (await place.before(typed("ls\n")))[1] is None
        assert (await place.before(typed("")))[1] is None


async def test_hooks_run_with_the_user_s_environment_in_the_turn_s_folder(place, hook, bash):
    line = 'echo "{\\"pwd\\": \\"$PWD\\", \\"dir\\": \\"$CLAUDE_PROJECT_DIR\\"}" > told.json'
    place.write("home", {"PreToolUse": [hook(line)]})
    async with place.session():
        await place.before(bash("ls"))
    assert place.told("told.json") == {"pwd": str(place.ws), "dir": str(place.ws)}


async def test_an_asking_hook_asks(place, hook, bash, says):
    asking = {"hookEventName": "PreToolUse", "permissionDecision": "ask"}
    place.write("home", {"PreToolUse": [hook(says(hookSpecificOutput=asking))]})
    async with place.session():
        assert (await place.before(bash("ls")))[1].decision == "ask"


@pytest.mark.parametrize("order", list(itertools.permutations(["allow", "ask", "deny"])))
async def test_a_refusal_wins_in_any_order(place, hook, bash, says, order):
    hooks = [hook(says(hookSpecificOutput={"permissionDecision": decision})) for decision in order]
    place.write("home", {"PreToolUse": hooks})
    async with place.session():
        assert (await place.before(bash("ls")))[1].decision == "deny"


async def test_a_hook_may_change_the_command(place, hook, bash, says):
    changed = {"permissionDecision": "allow", "updatedInput": {"command": "ls -l"}}
    place.write("home", {"PreToolUse": [hook(says(hookSpecificOutput=changed))]})
    async with place.session():
        call, verdict = await place.before(bash("ls"))
    assert call.arguments["cmd"] == "ls -l"
    assert json.loads(call.text)["cmd"] == "ls -l"
    assert verdict.decision == "allow"


async def test_a_change_is_shown_to_the_other_guards(place, hook, bash, says):
    changed = {"updatedInput": {"command": "rm -rf build"}}
    guard = "grep -q 'rm -rf' && { echo never >&2; exit 2; }; exit 0"
    place.write("home", {"PreToolUse": [hook(guard), hook(says(hookSpecificOutput=changed))]})
    async with place.session():
        _, verdict = await place.before(bash("ls"))
    assert (verdict.decision, "never" in verdict.reason) == ("deny", True)


async def test_two_different_changes_refuse_the_call(place, hook, bash, says):
    hooks = [
        hook(says(hookSpecificOutput={"updatedInput": {"command": text}})) for text in ("a", "b")
    ]
    place.write("home", {"PreToolUse": hooks})
    async with place.session():
        call, verdict = await place.before(bash("ls"))
    assert call.arguments["cmd"] == "ls"
    assert verdict.decision == "deny"
    assert "in different ways" in verdict.reason


@pytest.mark.parametrize("update", [{"command": 3}, {"tty": True}, {"escalated": True}])
async def test_a_change_the_tool_does_not_take_refuses_the_call(place, hook, bash, says, update):
    place.write("home", {"PreToolUse": [hook(says(hookSpecificOutput={"updatedInput": update}))]})
    async with place.session():
        assert (await place.before(bash("ls")))[1].decision == "deny"


async def test_what_another_plugin_made_of_a_call_is_judged_anew(place, hook, bash, patch):
    place.write("home", {"PreToolUse": [hook("exit 2", "apply_patch")]})
    async with place.session() as plugin:
        assert await plugin.ferrule_tool_rewrite(bash("apply_patch <<E"), place.turn()) is None
        verdict = await plugin.ferrule_tool_before(
            patch("*** Begin Patch"), place.turn(), place.context()
        )
    assert verdict.decision == "deny"


FAILURES = {
    "exit code": "echo broken >&2; exit 1",
    "missing program": "no-such-program",
    "bad JSON": "echo '{'",
    "unknown answer": 'echo \'{"decison": "block"}\'',
    "too slow": "sleep 100",
    "killed": "kill -9 $$",
}


@pytest.mark.parametrize("line", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("keys", [{}, {"on_error": "allow"}], ids=["block", "allow"])
async def test_a_guard_that_fails_refuses_unless_it_says_otherwise(place, hook, bash, line, keys):
    place.write("home", {"PreToolUse": [hook(line, timeout=0.5, **keys)]})
    async with place.session():
        place.warnings.clear()
        _, verdict = await place.before(bash("ls"))
    if keys:
        assert verdict is None
        assert "on_error lets it pass" in place.warnings[0]
    else:
        assert verdict.decision == "deny"
        assert str(place.home / "hooks.json") in verdict.reason


async def test_a_timeout_ends_everything_the_hook_started(place, hook, bash):
    marker = f"HOOK_MARK={place.folder}"
    line = f"export {marker}; sleep 1000 & setsid sleep 1000 & (sleep 1000) & wait"
    place.write("home", {"PreToolUse": [hook(line, timeout=1)]})
    async with place.session():
        assert (await place.before(bash("ls")))[1].decision == "deny"
    left = survivors(marker)
    assert len(left) <= 1
    for pid in left:  # what left its group came back to this process, whose kernel would end it
        assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] == str(
            os.getpid()
        )
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


async def test_what_a_hook_leaves_in_the_background_ends_with_it(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("sleep 1000 & echo $! > pid")]})
    async with place.session():
        assert (await place.before(bash("ls")))[1] is None
    await ended(int((place.ws / "pid").read_text()))


async def test_an_interrupt_ends_a_running_hook(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("echo $$ > pid; exec sleep 1000")]})
    async with place.session(), anyio.create_task_group() as group:
        group.start_soon(place.before, bash("ls"))
        with anyio.fail_after(120):
            while not (place.ws / "pid").exists() or not (place.ws / "pid").read_text():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    await ended(int((place.ws / "pid").read_text()))


async def test_hooks_run_at_the_same_time(place, hook, bash):
    meeting = "touch {me}; until test -e {other}; do sleep 0.01; done"
    place.write(
        "home",
        {
            "PreToolUse": [
                hook(meeting.format(me="a", other="b"), timeout=10),
                hook(meeting.format(me="b", other="a"), timeout=10),
            ]
        },
    )
    async with place.session():
        assert (await place.before(bash("ls")))[1] is None


async def test_sequential_hooks_wait_for_each_other_and_stop_at_a_refusal(place, hook, bash):
    lines = ["echo 1 >> log", "echo 2 >> log; exit 2", "echo 3 >> log"]
    hooks = [hook(line)["hooks"][0] for line in lines]
    place.write("home", {"PreToolUse": [{"sequential": True, "hooks": hooks}]})
    async with place.session():
        assert (await place.before(bash("ls")))[1].decision == "deny"
    assert (place.ws / "log").read_text() == "1\n2\n"


async def test_async_hooks_are_not_waited_for_and_end_with_the_session(place, hook, bash):
    line = "mkfifo pipe; echo $$ > pid; read x < pipe; touch done; exec sleep 1000"
    place.write("home", {"PreToolUse": [hook(line, **{"async": True})]})
    async with place.session():
        assert (await place.before(bash("ls")))[1] is None
        with anyio.fail_after(120):
            while not (place.ws / "pid").exists() or not (place.ws / "pid").read_text():
                await anyio.sleep(0.01)
        await anyio.to_thread.run_sync((place.ws / "pipe").write_text, "go\n")
        with anyio.fail_after(120):
            while not (place.ws / "done").exists():
                await anyio.sleep(0.01)
    await ended(int((place.ws / "pid").read_text()))


async def test_a_hook_need_not_read_what_it_is_told(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("exit 0")]})
    async with place.session():
        assert (await place.before(bash("x" * 300_000)))[1] is None


async def test_output_without_end_does_not_fill_the_memory(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("yes | head -c 20000000")]})
    async with place.session():
        assert (await place.before(bash("ls")))[1] is None


async def test_the_result_of_a_command_comes_with_its_exit_code(place, hook, bash):
    place.write("home", {"PostToolUse": [hook("cat > told.json", "Bash")]})
    async with place.session() as plugin:
        result = command_result("oh\n", 3)
        reply = await plugin.ferrule_tool_output(bash("false"), result, None, place.turn())
    assert reply is None
    told = place.told("told.json")
    assert (told["tool_response"], told["exit_code"]) == ("oh\n", 3)


@pytest.mark.parametrize(
    "line",
    [
        "echo instead >&2; exit 2",
        """echo '{"decision": "block", "reason": "instead"}'""",
        """echo '{"continue": false, "stopReason": "instead"}'""",
        """echo '{"hookSpecificOutput": {"updatedToolOutput": "instead"}}'""",
    ],
)
async def test_a_hook_may_replace_what_the_model_reads(place, hook, bash, line):
    place.write("home", {"PostToolUse": [hook(line)]})
    async with place.session() as plugin:
        result = command_result("oh\n", 0)
        reply = await plugin.ferrule_tool_output(bash("ls"), result, None, place.turn())
    assert reply.replacement == "instead"


async def test_context_of_both_sides_follows_the_output(place, hook, bash, says):
    def adding(text):
        return hook(says(hookSpecificOutput={"additionalContext": text}))

    place.write("home", {"PreToolUse": [adding("before")], "PostToolUse": [adding("after")]})
    async with place.session() as plugin:
        await place.before(bash("ls"))
        result = command_result("oh\n", 0)
        reply = await plugin.ferrule_tool_output(bash("ls"), result, None, place.turn())
    assert (reply.replacement, reply.context) == (None, "before\n\nafter")


@pytest.mark.parametrize(
    ("result", "failure", "error"),
    [
        (ToolResult("no", success=False), "it was refused", "it was refused"),
        (ToolResult("no such file", success=False), None, "no such file"),
    ],
)
async def test_a_call_that_failed_has_its_own_event(place, hook, result, failure, error):
    place.write("home", {"PostToolUse": [hook("false")], "PostToolUseFailure": [hook("cat > t")]})
    call = ToolCall("c1", "view_image", {"path": "x.png"}, '{"path": "x.png"}', "function")
    async with place.session() as plugin:
        await plugin.ferrule_tool_output(call, result, failure, place.turn())
    told = place.told("t")
    assert (told["error"], told["tool_name"]) == (error, "view_image")
    assert told["tool_input"] == {"path": "x.png"}


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"decision": {"behavior": "deny", "message": "no"}}, "deny"),
        ({"decision": {"behavior": "allow"}}, None),
        ({}, None),
    ],
)
async def test_permission_requests(place, hook, bash, says, answer, decision):
    line = "cat > told.json; " + says(hookSpecificOutput=answer)
    place.write("home", {"PermissionRequest": [hook(line, "Bash")]})
    request = ReviewRequest("t1", "u1", bash("id -u"), None, "because", "/", escalation=True)
    async with place.session() as plugin:
        verdict = await plugin.ferrule_permission_request(request, place.turn())
    assert (verdict and verdict.decision) == decision
    told = place.told("told.json")
    assert told["tool_input"]["description"] == "because"
    assert told["escalated"] is True
    is_told = any("the reviewer is asked all the same" in warning for warning in place.warnings)
    assert is_told == (answer.get("decision", {}).get("behavior") == "allow")


async def test_a_permission_hook_that_fails_refuses(place, hook, bash):
    place.write("home", {"PermissionRequest": [hook("exit 1")]})
    request = ReviewRequest("t1", "u1", bash("id -u"), None, "because", "/")
    async with place.session() as plugin:
        verdict = await plugin.ferrule_permission_request(request, place.turn())
    assert isinstance(verdict, Verdict)
    assert verdict.decision == "deny"
