"""Permissions beyond the sandbox, in `ferrule exec` with the sandbox of this machine."""

import contextlib
import json
import shutil
import socket
import sys

import pytest

from ferrule_testkit.model_items import function_call, message

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

REVIEW = """\
import json, sys
request = json.load(sys.stdin)
print(json.dumps({"decision": "accept", "reason": "seen: " + request["reason"]}))
"""


@pytest.fixture
def turn(ferrule_home, run_ferrule, model_server):
    """Have the model make some calls, one after the other; returns what it read of each."""
    program = ferrule_home.path / "review.py"
    program.write_text(REVIEW)
    command = json.dumps([sys.executable, str(program)])
    tables = (
        f"[reviewers.command.yes]\ncommand = {command}\n"
        "[features]\nrequest_permissions_tool = true\n"
        "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"
    )

    def run(*calls, approval="on-request", mode="workspace-write"):
        ferrule_home.configure(tables=tables)
        answers = [
            [function_call(name, arguments, call_id=f"c{number}")]
            for number, (name, arguments) in enumerate(calls)
        ]
        model_server.play([*answers, [message("done")]])
        words = ["-c", 'approvals_reviewer="command:yes"', "-a", approval, "-s", mode]
        finished = run_ferrule("exec", *words, "go")
        assert finished.returncode == 0, finished.stderr
        sent = model_server.requests[-1].body["input"]
        outputs = [item["output"] for item in sent if item["type"].endswith("_output")]
        return outputs[-len(calls) :]

    return run


@pytest.fixture
def outside(tmp_path_factory):
    return tmp_path_factory.mktemp("outside")


@pytest.fixture
def port():
    """A server of this machine that accepts connections."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def shell(cmd, **permissions):
    arguments = {"cmd": cmd, "login": False}
    if permissions:
        arguments["sandbox_permissions"] = "with_additional_permissions"
        arguments["additional_permissions"] = permissions
    return ("exec_command", arguments)


def files(**paths):
    return {key: [str(path)] for key, path in paths.items()}


def test_a_granted_folder_is_writable_in_that_call_only(turn, outside, tmp_path_factory):
    beside = tmp_path_factory.mktemp("beside")

    turn(
        shell(f"touch {outside}/a {beside}/a", file_system=files(write=outside)),
        shell(f"touch {outside}/b"),
    )

    assert [path.name for path in outside.iterdir()] == ["a"]
    assert list(beside.iterdir()) == []


def test_the_network_is_reached_only_where_it_is_granted(turn, port, outside):
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reach''ed"

    outputs = turn(
        shell(reach),
        shell(f"{reach}; touch {outside}/a", network={"enabled": True}),
        shell(f"{reach}; touch {outside}/a", file_system=files(write=outside)),
    )

    assert ["reached" in output for output in outputs] == [False, True, False]
    assert [path.name for path in outside.iterdir()] == ["a"]


def test_git_hooks_in_a_granted_folder_stay_out_of_reach(turn, outside):
    hooks = outside / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (outside / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    turn(
        shell(f"touch {outside}/a {hooks}/pre-commit", file_system=files(write=outside)),
        shell(f"touch {hooks}/pre-commit", file_system=files(write=hooks)),
    )

    assert (outside / "a").exists()
    assert list(hooks.iterdir()) == []


def test_what_is_protected_stays_so_when_the_folder_above_is_granted(turn, ferrule_home):
    workspace, above = ferrule_home.workspace, ferrule_home.workspace.parent
    hook = workspace / ".git" / "hooks" / "planted"
    settings = ferrule_home.path / "config.toml"

    turn(
        shell(
            f"touch {above}/seen {hook}; mkdir .codex; echo '# planted' >> {settings}",
            file_system=files(write=above),
        )
    )

    assert (above / "seen").exists()
    assert not hook.exists()
    assert not (workspace / ".codex").exists()
    assert "planted" not in settings.read_text()


def test_in_read_only_mode_nothing_but_the_granted_folder_is_writable(turn, outside):
    outputs = turn(
        shell(f"touch {outside}/a; touch here && echo wr''ote", file_system=files(write=outside)),
        shell(f"touch {outside}/b"),
        mode="read-only",
    )

    assert [path.name for path in outside.iterdir()] == ["a"]
    assert "wrote" not in outputs[0]


def test_what_was_requested_ahead_holds_for_the_commands_of_the_turn(turn, outside, port):
    asked = {"network": {"enabled": True}, "file_system": files(write=outside)}
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{port} && touch {outside}/a && echo reach''ed"

    outputs = turn(("request_permissions", {"permissions": asked}), shell(reach))

    assert outputs[0].startswith("Granted, until the end of this turn at least: use of the network")
    assert "reached" in outputs[1]


def test_never_refuses_and_says_so(turn, outside):
    outputs = turn(
        shell(f"touch {outside}/a", file_system=files(write=outside)),
        ("request_permissions", {"permissions": {"network": {"enabled": True}}}),
        approval="never",
    )

    assert all("'never' does not allow asking" in output for output in outputs)
    assert list(outside.iterdir()) == []
