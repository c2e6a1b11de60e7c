"""`ferrule exec --overlay` end to end: the workspace stays as it is until changes are applied."""

import json
import subprocess
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
    assert "until you say: ferrule changes apply" in finished.stderr
    assert (workspace / "kept.txt").read_text() == "one\ntwo\nthree\n"
    assert (workspace / "old.txt").exists()
    assert not (workspace / "new.txt").exists()
    assert "one\n2\nthree" in str(outputs(model_server)["c2"]).replace("\\n", "\n")
    assert f"{workspace}/made" in str(outputs(model_server)["c3"])
    assert not finished.survivors

    listed = run_ferrule("changes", "--json")
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


PROTECTED = [
    "echo bad > .git/hooks/pre-commit",
    "echo bad >> .git/config",
    "mkdir -p .ferrule && echo bad > .ferrule/config.toml",
    "mv .git elsewhere",
    "rm -rf .codex; mkdir .codex; echo bad > .codex/config.toml",
]


def test_protected_places_hold_in_the_view_and_git_works_in_it(
    run_ferrule, model_server, workspace
):
    git = "git -c user.name=n -c user.email=e"
    model_server.play(
        [
            [shell("cat .codex/config.toml; ls -a; stat .ferrule; test -e .agents; true", "look")],
            *[[shell(f"{script} && echo escaped", f"c{n}")] for n, script in enumerate(PROTECTED)],
            [shell(f"{git} add -A && {git} commit -qm first && git log --oneline", "commit")],
            [shell(f"{git} switch -qc other && git status --short && echo clean", "switch")],
            say("done"),
        ]
    )

    finished = run_ferrule("exec", "--overlay", "--skip-git-repo-check", "go")

    assert finished.returncode == 0, finished.stderr
    said = outputs(model_server)
    for number, script in enumerate(PROTECTED):
        assert "escaped" not in str(said[f"c{number}"]), script
        assert "exited with code 0" not in str(said[f"c{number}"])
    assert "first" in str(said["commit"])
    assert "clean" in str(said["switch"])
    assert not (workspace / ".git" / "refs" / "heads" / "other").exists()
    assert not (workspace / ".codex").exists()

    applied = run_ferrule("changes", "apply")
    assert applied.returncode == 0, applied.stdout + applied.stderr
    log = subprocess.run(
        ["git", "log", "--oneline", "other"], cwd=workspace, capture_output=True, text=True
    )
    assert "first" in log.stdout
    assert not list(workspace.glob(".git/hooks/pre-commit"))


def test_what_an_unconfined_command_put_into_protected_places_is_not_applied(
    run_ferrule, model_server, workspace
):
    script = "echo bad > .git/hooks/pre-commit; mkdir .ferrule; echo x > .ferrule/x; echo y > good"
    model_server.play([[shell(script)], say("done")])
    options = ("--overlay", "-s", "danger-full-access", "--skip-git-repo-check")

    finished = run_ferrule("exec", *options, "go")
    assert finished.returncode == 0, finished.stderr
    listed = json.loads(run_ferrule("changes", "--json").stdout)["changes"]
    obstacles = {each["path"]: each["obstacle"] for each in listed}
    applied = run_ferrule("changes", "apply", "--json")

    assert "is protected" in obstacles[".git/hooks/pre-commit"]
    assert obstacles["good"] == ""
    assert applied.returncode == 1
    left = {each["path"] for each in json.loads(applied.stdout)["left"]}
    assert str(workspace / ".git/hooks/pre-commit") in left
    assert (workspace / "good").read_text() == "y\n"
    assert not (workspace / ".git/hooks/pre-commit").exists()
    assert not (workspace / ".ferrule").exists()


def test_a_thread_that_is_resumed_goes_on_where_it_was(run_ferrule, model_server, workspace):
    model_server.play(
        [
            [shell("echo one > new.txt")],
            say("done"),
            [shell("cat new.txt; echo two >> new.txt", "again")],
            say("done"),
        ]
    )
    first = run_ferrule("exec", "--overlay", "--skip-git-repo-check", "go")
    assert first.returncode == 0, first.stderr

    resumed = run_ferrule("exec", "resume", "--last", "--skip-git-repo-check", "on")

    assert resumed.returncode == 0, resumed.stderr
    assert "1 pending change" in resumed.stderr
    assert "one" in str(outputs(model_server)["again"])
    assert not (workspace / "new.txt").exists()
    shown = run_ferrule("changes")
    assert "+one\n+two\n" in shown.stdout
    assert "new file mode 0644" in shown.stdout


def test_changes_are_listed_chosen_and_discarded_by_the_command(
    run_ferrule, model_server, workspace
):
    script = "sed -i s/two/2/ kept.txt; printf '\\0x' > bin; chmod 755 old.txt; ln -s a link"
    model_server.play([[shell(script)], say("done")])
    assert run_ferrule("exec", "--overlay", "--skip-git-repo-check", "go").returncode == 0

    shown = run_ferrule("changes").stdout

    assert "-two\n+2\n" in shown
    assert "Binary file bin differs (0 -> 2 bytes)" in shown
    assert "old mode 0644\nnew mode 0755" in shown
    assert "new symbolic link to a" in shown
    assert run_ferrule("changes", "apply", "--file", "kept.txt", "--hunk", "1").returncode == 0
    assert (workspace / "kept.txt").read_text() == "one\n2\nthree\n"
    assert run_ferrule("changes", "discard").returncode == 2
    assert run_ferrule("changes", "discard", "--file", "bin").returncode == 0
    left = json.loads(run_ferrule("changes", "--json").stdout)
    assert [each["path"] for each in left["changes"]] == ["link", "old.txt"]
    assert run_ferrule("changes", "discard", "--all", left["thread"][:13]).returncode == 0
    assert "0 pending changes" in run_ferrule("changes").stdout
    log = json.loads(run_ferrule("changes", "log", "--json").stdout)
    assert [batch["kind"] for batch in log["batches"]] == ["apply"]
    assert run_ferrule("changes", "forget").returncode == 0
    assert "no session with an overlay" in run_ferrule("changes").stdout


def test_without_any_overlay_the_command_says_so(run_ferrule):
    assert "no session with an overlay" in run_ferrule("changes").stdout
    assert run_ferrule("changes", "apply", "no-such-thread").returncode == 1


def test_a_project_cannot_ask_for_an_overlay(run_ferrule, model_server, workspace):
    (workspace / ".ferrule").mkdir()
    (workspace / ".ferrule" / "config.toml").write_text("overlay = true\n")
    model_server.play([[shell("echo x > new.txt")], say("done")])

    finished = run_ferrule("exec", "--trust", "--skip-git-repo-check", "go")

    assert finished.returncode == 0, finished.stderr
    assert "overlay" in finished.stderr
    assert (workspace / "new.txt").exists()
