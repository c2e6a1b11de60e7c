"""`ferrule sandbox` and `ferrule exec` as a user meets them, with this backend."""

import importlib.util
import json
import os
import pty
import shutil
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ferrule") is None, reason="needs the ferrule command"
)
ACCEPT = 'sandbox_accept_gaps=["protected_paths", "missing_names"]'
WRITE = ("-s", "workspace-write", "-c", ACCEPT)
# A user namespace in which no further ones can be made, as on hosts that forbid them.
NO_NAMESPACES = (
    "unshare --user --map-root-user sh -c"
    " 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh"
)


@pytest.fixture
def start(backend, place):
    home = place / "home"

    def start(*arguments, before=(), env=None, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen(
            [*before, sys.executable, "-m", "ferrule", "sandbox", *arguments],
            cwd=place / "workspace",
            env={**os.environ, "HOME": str(home), "FERRULE_HOME": str(home / ".ferrule")}
            | (env or {}),
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


@pytest.fixture
def without_bubblewrap(tmp_path):
    """A search path without `bwrap`, and system folders hidden by one of our own."""
    if importlib.util.find_spec("ferrule_sandbox_bubblewrap") is None:
        pytest.skip("needs the bubblewrap backend to fall back from")
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs root to hide bubblewrap")
    hide = 'mount --make-rprivate / && mount --bind /dev/null /usr/bin/bwrap && exec "$@"'
    if not os.path.exists("/usr/bin/bwrap"):
        hide = 'exec "$@"'
    return ("unshare", "--mount", "sh", "-c", hide, "sh")


def test_output_exit_code_and_input_pass(run, place):
    (place / "outside" / "input").write_text("in")
    with (place / "outside" / "input").open() as file:
        ended = run(
            "--backend", "landlock", "--", "sh", "-c", "cat; echo err >&2; exit 7", stdin=file
        )
    assert (ended.returncode, ended.stdout) == (7, "in")
    assert ended.stderr.endswith("err\n")


def test_the_mode_that_promises_more_is_refused_with_the_line_to_write(run):
    ended = run("--backend", "landlock", "-s", "workspace-write", "--", "true")
    assert ended.returncode == 1
    assert "cannot enforce protected_paths, missing_names here" in ended.stderr
    assert "apt install bubblewrap" in ended.stderr
    assert 'sandbox_accept_gaps = ["protected_paths", "missing_names"]' in ended.stderr


def test_what_was_accepted_is_said_and_then_works(run, place):
    ended = run("--backend", "landlock", *WRITE, "--", "touch", "x", "/var/tmp/ferrule-x")
    assert "warning: commands run in the sandbox landlock: it is the configured" in ended.stderr
    assert "protected places in writable folders" in ended.stderr
    assert (place / "workspace" / "x").exists()
    assert "cannot touch '/var/tmp/ferrule-x': Permission denied" in ended.stderr


def test_a_project_cannot_accept_anything(run, place):
    folder = place / "workspace" / ".ferrule"
    folder.mkdir()
    (folder / "config.toml").write_text(ACCEPT + "\n")
    home = place / "home" / ".ferrule"
    home.mkdir()
    (home / "config.toml").write_text(f'[projects."{place}/workspace"]\ntrust_level = "trusted"\n')
    ended = run("--backend", "landlock", "-s", "workspace-write", "--", "true")
    assert ended.returncode == 1
    assert "cannot enforce protected_paths" in ended.stderr


def test_without_bubblewrap_it_is_fallen_back_to_and_said_why(run, without_bubblewrap):
    ended = run("-s", "read-only", "--", "echo", "ran", before=without_bubblewrap)
    assert ended.stdout == "ran\n"
    assert "commands run in the sandbox landlock: the sandbox bubblewrap is not usable" in (
        ended.stderr
    )


def test_without_bubblewrap_writing_needs_the_accepted_gaps(run, without_bubblewrap, place):
    refused = run("-s", "workspace-write", "--", "touch", "x", before=without_bubblewrap)
    assert refused.returncode == 1
    assert "make bubblewrap work" in refused.stderr
    accepted = run(*WRITE, "--", "touch", "x", before=without_bubblewrap)
    assert accepted.returncode == 0
    assert (place / "workspace" / "x").exists()


def test_without_user_namespaces_it_is_fallen_back_to(run):
    if subprocess.run([*_words(NO_NAMESPACES), "true"], capture_output=True).returncode:
        pytest.skip("user namespaces cannot be switched off in one here")
    ended = run("-s", "read-only", "--", "echo", "ran", before=_words(NO_NAMESPACES))
    assert ended.stdout == "ran\n"
    assert "the sandbox bubblewrap is not usable" in ended.stderr
    assert "user namespaces" in ended.stderr


def test_the_probe_says_what_is_enforced(run):
    facts = json.loads(run("--backend", "landlock", "--json-probe").stdout)
    assert facts["backend"] == "landlock"
    assert {"filesystem", "network", "deny_read", "unix_sockets"} <= set(facts["enforced"])
    assert "protected_paths" not in facts["enforced"]


def test_an_unreadable_place_in_the_workspace_is_refused(run, place):
    (place / "workspace" / "app.env").write_text("secret")
    options = ("--backend", "landlock", *WRITE, "--deny-read", "*.env")
    ended = run(*options, "--", "cat", "app.env")
    assert ended.returncode == 1
    assert "app.env unreadable while commands may write" in ended.stderr
    kept = run("--backend", "landlock", "--deny-read", "*.env", "--", "cat", "app.env")
    assert "Permission denied" in kept.stderr


def test_what_the_command_leaves_running_ends_with_it(run):
    script = "setsid sleep 8642.78 & sleep 8642.78 & echo done"
    ended = run("--backend", "landlock", "--", "sh", "-c", script)
    assert ended.stdout == "done\n"
    assert subprocess.run(["pgrep", "-f", "sleep 8642.78"], capture_output=True).stdout == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(start, number):
    script = "trap 'echo caught; exit 5' INT TERM; echo ready; while :; do sleep 0.05; done"
    with start("--backend", "landlock", "--", "sh", "-c", script) as child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.stdout.read() == "caught\n"
    assert child.returncode == 5


def test_a_kill_ends_the_command(start):
    with start(
        "--backend", "landlock", "--", "sh", "-c", "echo ready; exec sleep 8642.77"
    ) as child:
        assert child.stdout.readline() == "ready\n"
        child.kill()
        child.stdout.read()  # ends when the command does
    assert subprocess.run(["pgrep", "-f", "sleep 8642.77"], capture_output=True).stdout == b""


def test_a_terminal_is_the_commands_own(start):
    ours, theirs = pty.openpty()
    options = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    script = "test -t 0 && test -t 1 && echo yes > /dev/tty; stty size > /dev/null && echo sized"
    with start("--backend", "landlock", "--", "sh", "-c", script, **options) as child:
        child.wait()
    os.close(theirs)
    seen = os.read(ours, 4096)
    os.close(ours)
    assert b"sized" in seen


def test_output_that_is_not_text_passes(run):
    ended = run("--backend", "landlock", "--", "printf", r"\377\376", text=False)
    assert ended.stdout == b"\xff\xfe"


def _words(line):
    import shlex

    return shlex.split(line)
