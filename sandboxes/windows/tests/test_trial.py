"""What a trial concludes from what a command left; and how programs are found."""

import os
import socket

import pytest

from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_windows.program import find_program
from ferrule_sandbox_windows.trial import Trial

CLAIMS = frozenset(("filesystem", "protected_paths", "missing_names", "network", "deny_read"))


@pytest.fixture
def trial(tmp_path):
    made = Trial(tmp_path)
    yield made
    made.close()


@pytest.fixture
def workspace(trial, tmp_path):
    """The place after a command that could do what it may, and nothing else."""
    folder = tmp_path / "workspace"
    (folder / "allowed").write_text("x")
    (folder / "read").write_text("content")
    (folder / "copied").write_text("")
    (folder / "curled").write_text("curl 8")
    return folder


def test_a_command_that_could_only_do_what_it_may_breaks_nothing(trial, workspace):
    assert trial.outcome() == (None, frozenset())


@pytest.mark.parametrize("name", ["allowed", "read"])
def test_a_command_that_could_not_do_what_it_may_shows_nothing(trial, workspace, name):
    (workspace / name).unlink()

    assert trial.outcome().fault is not None


def test_a_command_that_did_nothing_shows_nothing(trial):
    assert trial.outcome().fault is not None


@pytest.mark.parametrize(
    ("leak", "broken"),
    [
        (lambda w: (w.parent / "outside/new").write_text("x"), "filesystem"),
        (lambda w: (w.parent / "outside/removed").unlink(), "filesystem"),
        (lambda w: (w.parent / "outside/changed").write_text("contentx"), "filesystem"),
        (lambda w: (w / "kept/new").write_text("x"), "protected_paths"),
        (lambda w: (w / "kept/file").unlink(), "protected_paths"),
        (lambda w: (w / "kept").rename(w / "moved"), "protected_paths"),
        (lambda w: (w / "missing").mkdir() or (w / "missing/new").write_text("x"), "missing_names"),
        (lambda w: (w / "copied").write_text("content\n"), "deny_read"),
        (lambda w: (w / "curled").unlink(), "network"),
    ],
)
def test_each_leak_breaks_its_claim(trial, workspace, leak, broken):
    leak(workspace)

    assert broken in trial.outcome().broken


def test_a_connection_breaks_the_claim_of_no_network(trial, workspace):
    port = next(
        word.rsplit(":", 1)[1].rstrip("/")
        for word in (workspace / "try.cmd").read_text().split()
        if word.startswith("http://")
    )
    with socket.create_connection(("127.0.0.1", int(port))):
        assert trial.outcome().broken == {"network"}


def test_everything_that_is_claimed_is_tried(trial):
    policy = trial.policy(CLAIMS)

    assert policy.deny_read
    assert not policy.network
    assert policy.writable_roots[0].read_only
    assert policy.writable_roots[0].forbidden
    assert not trial.policy(CLAIMS - {"deny_read"}).deny_read


def test_the_command_of_a_trial_is_the_systems_own_shell(trial):
    assert trial.command({"SYSTEMROOT": "D:\\Win"}).argv[0] == "D:\\Win\\System32\\cmd.exe"


@pytest.fixture
def tools(tmp_path):
    for name in ("a/git.EXE", "b/git.CMD", "b/npm.CMD", "work/npm.EXE", "work/own.EXE", "b/plain"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("git", "a/git.EXE"),
        ("git.CMD", "b/git.CMD"),
        ("npm", "b/npm.CMD"),
        ("./own", "work/./own.EXE"),
        ("own", None),
        ("plain", None),
        ("missing", None),
        ("", None),
    ],
)
def test_programs_are_found_on_path_and_never_by_chance_in_the_workspace(tools, name, found):
    env = {"Path": os.pathsep.join((f"{tools}/a", f"{tools}/b"))}
    path = find_program(Command((name,), f"{tools}/work", env))

    assert path == (None if found is None else f"{tools}/{found}")
