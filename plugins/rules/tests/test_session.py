"""The rules in a whole session: `ferrule exec` with a scripted model."""

from __future__ import annotations

import pytest

from ferrule_testkit.model_items import function_call, message


@pytest.fixture
def commands(ferrule_home, model_server, run_ferrule):
    """Let the model call commands, by rules given as text; gives what the model was told."""

    def run(rules, *cmds, **arguments):
        folder = ferrule_home.path / "rules"
        folder.mkdir(exist_ok=True)
        (folder / "own.rules").write_text(rules)
        model_server.play(
            [
                *([function_call("exec_command", {"cmd": cmd, **arguments})] for cmd in cmds),
                [message("done")],
            ]
        )
        done = run_ferrule("exec", "--json", "go")
        return done, done.items("command_execution")

    return run


def test_a_forbidden_command_does_not_run_and_the_model_learns_why(commands, ferrule_home):
    done, items = commands(
        'forbidden prefix touch because:"use the editor"\n', "echo hi", "env touch made", "echo ho"
    )
    assert done.returncode == 0
    assert [item["status"] for item in items] == ["completed", "declined", "completed"]
    assert not (ferrule_home.workspace / "made").exists()
    assert "use the editor" in items[1]["aggregated_output"]


def test_a_broken_file_is_told_of_once(commands):
    done, items = commands("allow preffix x\n", "echo hi", "echo ho")
    assert done.stdout.count("own.rules:1:7") + done.stderr.count("own.rules:1:7") == 1
    assert [item["status"] for item in items] == ["completed", "completed"]


def test_a_file_that_may_forbid_stops_commands_while_it_is_broken(commands):
    _, items = commands("forbidden preffix x\n", "echo hi")
    assert items[0]["status"] == "declined"
