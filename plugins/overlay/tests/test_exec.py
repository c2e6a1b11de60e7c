"""`ferrule exec --overlay` end to end: the workspace stays as it is until changes are applied."""

import json
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")


def shell(command, call_id="c1", **more):
    arguments = json.dumps({"cmd": command, **more})
    return {
        "type": "function_call",
        "id": f"f_{call_id}",
        "call_id": call_id,
        "name": "exec_command",
        "arguments": arguments,
    }


def patch(text, call_id="p1"):
    return {
        "type": "custom_tool_call",
        "id": f"x_{call_id}",
        "call_id": call_id,
        "name": "apply_patch",
        "input": text,
    }


def say(text):
    content = [{"type": "output_text", "text": text}]
    return [{"type": "message", "id": "m1", "role": "assistant", "content": content}]


@pytest.fixture
def workspace(ferrule_home):
    (ferrule_home.workspace / "kept.txt").write_text("one\ntwo\nthree\n")
    (ferrule_home.workspace / "old.txt").write_text("old\n")
    return ferrule_home.workspace


def outputs(model_server):
    """What the model read of its calls."""
    found = {}
    for request in model_server.requests:
        for item in request.body["input"]:
            if item["type"].endswith("_output"):
                found[item["call_id"]] = item["output"]
    return found


def test_commands_and_patches_leave_the_workspace_alone_until_they_are_applied(
    run_ferrule, model_server, workspace
):
    edit = "*** Begin Patch\n*** Update File: kept.txt\n@@\n one\n-two\n+2\n three\n*** End Patch"
    look = "cat kept.txt; ls; echo tail >> kept.txt"
    model_server.play(
        [
            [shell("echo new > new.txt; rm old.txt; mkdir made; echo x > made/x")],
            [patch(edit)],
            [shell(look, "c2")],
            [shell("pwd; cat x", "c3", workdir="made")],
            say("done"),
        ]
    )

    finished = run_ferrule("exec", "--overlay", "--skip-git-repo-check", "--json", "go")

    assert finished.returncode == 0, finished.stderr
    print(outputs(model_server), finished.stderr)
    assert (workspace / "kept.txt").read_text() == "one\ntwo\nthree\n"
    assert (workspace / "old.txt").exists()
    assert not (workspace / "new.txt").exists()
    assert "one\n2\nthree" in str(outputs(model_server)["c2"]).replace("\\n", "\n")
    assert f"{workspace}/made" in str(outputs(model_server)["c3"])
    assert not finished.survivors

    listed = run_ferrule("changes", "--json")
    print(listed.stdout, listed.stderr)
    kinds = {each["path"]: each["kind"] for each in json.loads(listed.stdout)["changes"]}
    assert kinds == {
        "kept.txt": "modified",
        "made": "added",
        "made/x": "added",
        "new.txt": "added",
        "old.txt": "deleted",
    }

    applied = run_ferrule("changes", "apply")
    assert applied.returncode == 0, applied.stderr
    assert (workspace / "kept.txt").read_text() == "one\n2\nthree\ntail\n"
    assert (workspace / "made" / "x").read_text() == "x\n"
    assert not (workspace / "old.txt").exists()
    assert json.loads(run_ferrule("changes", "--json").stdout)["changes"] == []

    back = run_ferrule("changes", "rollback")
    assert back.returncode == 0, back.stderr
    assert (workspace / "kept.txt").read_text() == "one\ntwo\nthree\n"
    assert (workspace / "old.txt").read_text() == "old\n"
    assert not (workspace / "made").exists()
