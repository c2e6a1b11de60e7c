"""`ferrule sandbox` as a user meets it, with this backend."""

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ferrule") is None, reason="needs the ferrule command"
)


@pytest.fixture
def start(backend, place):
    home = place / "home"

    def start(*arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen(
            [sys.executable, "-m", "ferrule", "sandbox", *arguments],
            cwd=place / "workspace",
            env={**os.environ, "HOME": str(home), "FERRULE_HOME": str(home / ".ferrule")},
            **options,
        )

    return start


@pytest.fixture
def run(start):
    def run(*arguments, **options):
        with start(*arguments, **options) as child:
            output, errors = child.communicate()
        return subprocess.CompletedProcess(arguments, child.returncode, output, errors)

    return run


def test_output_and_exit_code_pass(run):
    ended = run("-s", "workspace-write", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "out\n", "err\n")


def test_input_passes(run, place):
    path = place / "outside" / "input"
    path.write_text("some input")
    with path.open() as file:
        assert run("--", "cat", stdin=file).stdout == "some input"


def test_an_unknown_project_is_read_only_unless_told_otherwise(run, place):
    assert "Read-only" in run("--", "touch", "x").stderr
    assert run("-c", 'sandbox_mode="workspace-write"', "--", "touch", "x").returncode == 0
    assert (place / "workspace" / "x").exists()


def test_more_folders_may_be_named(run, place):
    arguments = ("-s", "workspace-write", "--add-dir", "../outside")
    assert run(*arguments, "--", "touch", "../outside/x").returncode == 0
    assert (place / "outside" / "x").exists()


def test_the_folder_may_be_named(run, place):
    ended = run("-C", str(place / "outside"), "--", "pwd")
    assert ended.stdout.strip() == str(place / "outside")


def test_patterns_may_be_kept_from_being_read(run, place):
    (place / "workspace" / "app.env").write_text("secret")
    ended = run("--deny-read", "**/*.env", "--", "cat", "app.env")
    assert ended.returncode != 0
    assert "secret" not in ended.stdout


def test_full_access_runs_without_a_sandbox(run, place):
    ended = run("-s", "danger-full-access", "--", "touch", str(place / "outside" / "x"))
    assert ended.returncode == 0
    assert (place / "outside" / "x").exists()


def test_the_backend_without_confinement_is_refused_for_a_confined_mode(run):
    ended = run("-s", "read-only", "--backend", "none", "--", "true")
    assert ended.returncode == 1
    assert "cannot enforce" in ended.stderr


def test_an_unknown_backend_is_an_error(run):
    ended = run("--backend", "no-such-backend", "--", "true")
    assert ended.returncode == 1
    assert "no-such-backend" in ended.stderr


@pytest.mark.parametrize("arguments", [[], ["-s", "anything-goes", "--", "true"], ["--nope"]])
def test_usage_errors_end_with_two(run, arguments):
    ended = run(*arguments)
    assert ended.returncode == 2
    assert "usage: ferrule sandbox" in ended.stderr


def test_options_of_the_command_are_its_own(run):
    assert run("--", "printf", "%s|", "-s", "--help", "--", "").stdout == "-s|--help|--||"


def test_the_probe_says_what_is_enforced(run):
    facts = json.loads(run("--json-probe").stdout)
    assert facts["backend"] == "bubblewrap"
    assert {"filesystem", "network", "missing_names"} <= set(facts["enforced"])


def test_secrets_stay_out_of_the_environment(run, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "very-secret")
    monkeypatch.setenv("PLAIN", "plain")
    ended = run("--", "sh", "-c", "echo $SOME_API_KEY $PLAIN $CODEX_SANDBOX_NETWORK_DISABLED")
    assert ended.stdout == "plain 1\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(start, number):
    script = "trap 'echo caught; exit 5' INT TERM; echo ready; while :; do sleep 0.05; done"
    with start("--", "sh", "-c", script) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.stdout.read() == "caught\n"
    assert child.returncode == 5


def test_a_kill_leaves_no_process(start):
    with start("--", "sh", "-c", "setsid sleep 8642.76 & echo ready; sleep 8642.76") as child:
        assert child.stdout.readline() == "ready\n"
        child.kill()
        child.stdout.read()  # ends when the last process of the sandbox does
    assert subprocess.run(["pgrep", "-f", "sleep 8642.76"], capture_output=True).stdout == b""


def test_closed_standard_streams_do_no_harm(start):
    def close():
        os.close(0)
        os.close(1)

    with start("--", "sh", "-c", "exit 7", preexec_fn=close) as child:
        child.communicate()
    assert child.returncode == 7
