"""Every event that `ferrule exec` can bring about, with real runs and real commands."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ferrule_testkit.model_items import freeform_call, function_call, message
from ferrule_testkit.processes import survivors

SHAPES = json.loads(Path(__file__).with_name("shapes.json").read_text())
"""The keys that Codex 0.169 sends with each event."""
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n"
TRUST = "--dangerously-bypass-hook-trust"


def shell(command, call_id="c1", **arguments):
    return function_call("exec_command", {"cmd": command, **arguments}, call_id=call_id)


@pytest.fixture
def run(ferrule_home, model_server, run_ferrule):
    """Run exec with hooks and a scripted model."""

    def start(hooks, *turns, arguments=(), **keys):
        (ferrule_home.path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        model_server.play([*turns, [message("done")]])
        finished = run_ferrule("exec", "--json", TRUST, *arguments, "go", **keys)
        assert not finished.survivors
        return finished

    return start


@pytest.fixture
def log(ferrule_home):
    """What a hook with the command `logging` was told, in order."""

    def told():
        path = ferrule_home.path / "log"
        texts = path.read_text().splitlines() if path.exists() else []
        return [json.loads(text) for text in texts]

    return told


@pytest.fixture
def logging(ferrule_home):
    return f"read -r line; printf '%s\\n' \"$line\" >> {ferrule_home.path}/log"


def outputs(server):
    """What the model read of its calls."""
    items = server.requests[-1].body["input"]
    return [item["output"] for item in items if item["type"].endswith("_output")]


def test_every_event_of_a_run_has_the_shape_of_the_recorded_one(run, log, logging, hook):
    events = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse"]
    events += ["PostToolUseFailure", "PreModelRequest", "PostModelRequest", "Stop"]
    events += ["Notification", "PermissionRequest"]
    run(
        {event: [hook(logging)] for event in events},
        [shell("echo hi")],
        [freeform_call("apply_patch", PATCH, call_id="c2")],
        [shell("id", "c3", sandbox_permissions="require_escalated", justification="j")],
        [shell("false", "c4")],
        [function_call("view_image", {"path": "nope.png"}, call_id="c5")],
        arguments=["-a", "on-request"],
    )
    told = log()
    seen = {payload["hook_event_name"] for payload in told}
    assert seen == set(events)
    for payload in told:
        shape = SHAPES.get(payload["hook_event_name"])
        if shape is not None:
            missing = set(shape) - payload.keys()
            assert not missing, (payload["hook_event_name"], missing)
    more = {
        event: set().union(*(p.keys() for p in told if p["hook_event_name"] == event))
        - set(SHAPES.get(event, []))
        for event in SHAPES
        if event in seen
    }
    assert {event: keys for event, keys in more.items() if keys} == {
        "PostToolUse": {"exit_code"},
        "PermissionRequest": {"escalated"},
    }
    tools = [(p["hook_event_name"], p["tool_name"]) for p in told if "tool_name" in p]
    assert tools == [
        ("PreToolUse", "Bash"),
        ("PostToolUse", "Bash"),
        ("PreToolUse", "apply_patch"),
        ("PostToolUse", "apply_patch"),
        ("PreToolUse", "Bash"),
        ("PermissionRequest", "Bash"),
        ("PostToolUseFailure", "Bash"),
        ("PreToolUse", "Bash"),
        ("PostToolUse", "Bash"),
        ("PreToolUse", "view_image"),
        ("PostToolUseFailure", "view_image"),
    ]
    (start,) = [p for p in told if p["hook_event_name"] == "SessionStart"]
    assert (start["source"], start["permission_mode"]) == ("startup", "default")
    assert Path(start["transcript_path"]).exists()
    (request,) = [p for p in told if p["hook_event_name"] == "PermissionRequest"]
    assert (request["tool_input"]["command"], request["tool_input"]["description"]) == ("id", "j")
    assert [p["exit_code"] for p in told if "exit_code" in p] == [0, 1]


def test_context_of_a_session_and_of_a_prompt_goes_to_the_model(run, model_server, hook):
    run({"SessionStart": [hook("echo be kind")], "UserPromptSubmit": [hook("echo be brief")]})
    *_, asked, note = model_server.requests[0].body["input"]
    assert asked["content"][0]["text"] == "go"
    assert (note["role"], note["content"][0]["text"]) == ("developer", "be kind\n\nbe brief")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ("UserPromptSubmit", "echo not that >&2; exit 2"),
        ("UserPromptSubmit", """echo '{"decision": "block", "reason": "not that"}'"""),
        ("SessionStart", """echo '{"continue": false, "stopReason": "not that"}'"""),
    ],
)
def test_a_refused_prompt_never_reaches_the_model(run, model_server, hook, event, line):
    finished = run({event: [hook(line)]})
    assert model_server.requests == []
    assert finished.returncode == 1
    assert "not that" in finished.stdout


def test_a_changed_command_is_what_runs(run, model_server, hook, says):
    changed = {"permissionDecision": "allow", "updatedInput": {"command": "echo changed"}}
    finished = run({"PreToolUse": [hook(says(hookSpecificOutput=changed))]}, [shell("echo hi")])
    (item,) = finished.items("command_execution")
    assert (item["command"], item["aggregated_output"]) == (
        "/bin/bash -lc 'echo changed'",
        "changed\n",
    )
    assert "changed" in outputs(model_server)[0]


def test_a_changed_patch_is_what_is_applied(run, hook, says, ferrule_home):
    changed = {"updatedInput": {"command": PATCH.replace("+hi", "+ho")}}
    run(
        {"PreToolUse": [hook(says(hookSpecificOutput=changed), "Edit")]},
        [freeform_call("apply_patch", PATCH)],
    )
    assert (ferrule_home.workspace / "a.txt").read_text() == "ho\n"


def test_the_model_reads_what_a_hook_puts_in_place_of_the_output(run, model_server, hook, says):
    answer = {"updatedToolOutput": "nothing to see", "additionalContext": "it rained"}
    finished = run({"PostToolUse": [hook(says(hookSpecificOutput=answer))]}, [shell("echo secret")])
    assert outputs(model_server) == ["nothing to see"]
    assert "secret" in finished.items("command_execution")[0]["aggregated_output"]
    note = model_server.requests[-1].body["input"][-1]
    assert (note["role"], note["content"][0]["text"]) == ("developer", "it rained")


def test_a_stop_hook_prolongs_the_turn_with_a_bound(run, log, logging, model_server, hook):
    line = f"{logging}; echo go on >&2; exit 2"
    model_server.play([])
    run({"Stop": [hook(line)]}, *[[message("done")] for _ in range(20)])
    told = log()
    assert [payload["stop_hook_active"] for payload in told] == [False] + [True] * (len(told) - 1)
    assert len(model_server.requests) == 9
    prompt = model_server.requests[1].body["input"][-1]
    assert prompt["role"] == "user"
    assert "go on" in prompt["content"][0]["text"]


def test_a_stop_hook_that_says_stop_ends_the_turn(run, model_server, hook, says):
    run({"Stop": [hook("exit 2"), hook(says(**{"continue": False}))]})
    assert len(model_server.requests) == 1


def test_an_asking_hook_brings_the_reviewer_in(run, model_server, hook, says):
    asking = {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}
    run({"PreToolUse": [hook(says(hookSpecificOutput=asking))]}, [shell("echo hi")])
    assert "sure?" in outputs(model_server)[0]


def test_a_patch_fed_to_the_shell_is_judged_as_a_patch(run, model_server, hook, ferrule_home):
    run(
        {"PreToolUse": [hook("exit 2", "apply_patch")]},
        [shell(f"apply_patch <<'EOF'\n{PATCH}EOF\n")],
    )
    assert "blocked by PreToolUse hook" in outputs(model_server)[0]
    assert not (ferrule_home.workspace / "a.txt").exists()


def test_messages_for_the_user_are_shown(run, hook):
    finished = run({"SessionStart": [hook("""echo '{"systemMessage": "mind the gap"}'""")]})
    assert "mind the gap" in str(finished.items("error"))


def test_a_hook_in_a_session_of_its_own_leaves_no_process(run, hook, model_server):
    run({"PreToolUse": [hook("setsid sleep 1000 & exit 0")]}, [shell("echo hi")])
    assert "hi" in outputs(model_server)[0]


def test_hooks_of_config_toml_run(ferrule_home, model_server, run_ferrule):
    ferrule_home.configure(
        tables='[[hooks.PreToolUse]]\nmatcher = "Bash"\n[[hooks.PreToolUse.hooks]]\n'
        'type = "command"\ncommand = "exit 2"\n'
    )
    model_server.play([[shell("echo hi")], [message("done")]])
    run_ferrule("exec", TRUST, "go")
    assert "blocked by PreToolUse hook" in outputs(model_server)[0]


def test_hooks_of_a_trusted_project_run_once_they_are_trusted(
    ferrule_home, model_server, run_ferrule, hook
):
    folder = ferrule_home.workspace / ".ferrule"
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ncommand = "touch ran"\n'
    )

    def go():
        model_server.play([[shell("echo hi")], [message("done")]])
        finished = run_ferrule("exec", "--json", "--trust", "-s", "danger-full-access", "go")
        return outputs(model_server)[0], str(finished.items("error"))

    output, warning = go()
    assert "is not trusted" in output
    assert "`hooks` is ignored" not in warning
    assert "touch ran" in warning

    assert "touch ran" in run_ferrule("hooks", "trust", "--all").stdout
    output, warning = go()
    assert "hi" in output
    assert warning == "[]"
    assert (ferrule_home.workspace / "ran").exists()


def test_without_hooks_nothing_of_them_is_loaded(ferrule_home, model_server, run_ferrule):
    model_server.play([[shell("echo hi")], [message("done")]])
    finished = run_ferrule("exec", "go", environ={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {
        line.rpartition("|")[2].strip()
        for line in finished.stderr.splitlines()
        if line.startswith("import time:")
    }
    ours = {name for name in loaded if name.startswith("ferrule_hooks.")}
    assert ours - {"ferrule_hooks.plugin"} == {"ferrule_hooks.places"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_running_hook_with_the_run(ferrule_home, model_server, hook, number):
    line = "echo $$ > pid; setsid sleep 1000 & exec sleep 1000"
    (ferrule_home.path / "hooks.json").write_text(
        json.dumps({"hooks": {"PreToolUse": [hook(line)]}})
    )
    model_server.play([[shell("echo hi")], [message("done")]])
    process = subprocess.Popen(
        ferrule_home.command(["exec", TRUST, "go"]),
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    pid = ferrule_home.workspace / "pid"
    while not (pid.exists() and pid.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    process.wait(120)
    assert survivors(f"FERRULE_HOME={ferrule_home.path}") == {}


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        pytest.param('{"hooks": {"PreToolUse": [', True, id="may hold a guard"),
        pytest.param('{"hooks": {"Stop": [', False, id="holds none"),
    ],
)
def test_a_file_that_cannot_be_read_guards_what_it_may_have_guarded(
    ferrule_home, model_server, run_ferrule, text, is_refused
):
    file = ferrule_home.path / "hooks.json"
    file.write_text(text)
    model_server.play([[shell("touch made")], [message("done")]])
    run_ferrule("exec", "--json", "go")

    (output,) = outputs(model_server)
    assert (
        f"{file} cannot be read and may hold a hook that guards this call" in output
    ) is is_refused
    assert (ferrule_home.workspace / "made").exists() is not is_refused
