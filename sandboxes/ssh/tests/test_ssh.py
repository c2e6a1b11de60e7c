"""Commands and files of another machine, by way of a real sshd."""

import os
import pty
import select
import signal
import subprocess
import time

import anyio
import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot, WriteFile
from ferrule_hookspecs.tools import SandboxDeniedError
from ferrule_testkit.processes import is_running

PATIENCE = 120
UNCONFINED = ResolvedPolicy("danger-full-access", "/", network=True, unconfined=True)


@pytest.fixture
def here(tmp_path):
    return tmp_path / "here"


@pytest.fixture
def launched(new_backend, here):
    """Starts a command over there; all are ended."""
    running = []

    def launched(*argv, backend=None, policy=UNCONFINED, tty=False, env=None, **options):
        backend = backend or new_backend()
        env = {"PATH": os.defpath} if env is None else env
        launch = backend.prepare(policy, Command(argv, str(here), env, tty=tty))
        child = subprocess.Popen(launch.argv, env=launch.env, cwd=launch.cwd, **options)
        running.append((child, launch))
        return child, launch

    yield launched
    for child, launch in running:
        with child:
            child.kill()
        launch.cleanup()


@pytest.fixture
def run(launched):
    def run(*argv, **options):
        options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, **options}
        child, _ = launched(*argv, stdout=subprocess.PIPE, **options)
        return child.communicate()[0], child.returncode

    return run


def do(function, *arguments, **options):
    async def work():
        return await function(*arguments, **options)

    return anyio.run(work)


def test_a_command_runs_in_the_workspace_over_there(run, there):
    assert run("sh", "-c", "pwd; touch made") == (f"{there}\n".encode(), 0)
    assert (there / "made").exists()


def test_the_environment_and_the_arguments_arrive_byte_by_byte(run):
    env = {"PATH": os.defpath, "A": "b c'\n$d", "E": "\udcff\x81é"}
    odd = "a'b\"c$d\n\udcfe"

    said, _ = run("env", env=env)
    printed, _ = run("printf", "%s|", odd, "", "-n")

    assert said == b"".join(os.fsencode(f"{name}={value}\n") for name, value in env.items())
    assert printed == os.fsencode(f"{odd}||-n|")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-program"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_ends_are_told_as_a_shell_tells_them(run, argv, code):
    assert run(*argv)[1] == code


def test_streams_stay_apart_and_input_arrives(launched):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child, _ = launched("sh", "-c", "wc -c; echo oops >&2", **pipes)

    said, errors = child.communicate(b"x" * 300_000)

    assert (said.strip(), errors) == (b"300000", b"oops\n")


def test_a_terminal_is_there_where_one_was_asked_for(launched):
    ours, theirs = pty.openpty()
    launched(
        "sh",
        "-c",
        "tty; read line; echo got $line",
        tty=True,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)

    said = read_until(ours, b"/dev/pts")
    os.write(ours, b"word\n")
    said += read_until(ours, b"got word")
    os.close(ours)

    assert b"got word" in said


def read_until(descriptor, words):
    said = b""
    while words not in said and select.select([descriptor], [], [], PATIENCE)[0]:
        said += os.read(descriptor, 4096)
    return said


def test_signals_reach_the_command(launched):
    script = "trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.1; done"
    child, launch = launched("sh", "-c", script, stdout=subprocess.PIPE)
    child.stdout.readline()

    assert launch.forward_signal(child.pid, signal.SIGTERM)

    assert child.communicate()[0] == b"ended\n"
    assert child.returncode == 7


def test_a_command_ends_with_its_client(launched):
    child, launch = launched("sh", "-c", "echo $$; exec sleep 3600", stdout=subprocess.PIPE)
    pid = int(child.stdout.readline())

    child.kill()
    child.wait()
    launch.cleanup()

    await_end(pid)


def test_everything_ends_with_a_killed_session(new_backend, here):
    backend = new_backend()
    reader, writer = os.pipe()
    session = os.fork()
    if session == 0:
        command = Command(("sh", "-c", "echo $$; exec sleep 3600"), str(here), {"PATH": os.defpath})
        launch = backend.prepare(UNCONFINED, command)
        subprocess.Popen(launch.argv, env=dict(launch.env), stdout=writer)
        signal.pause()
    os.close(writer)
    with os.fdopen(reader) as said:
        pid = int(said.readline())

        os.kill(session, signal.SIGKILL)
        os.waitpid(session, 0)

        await_end(pid)


def await_end(pid):
    deadline = time.monotonic() + PATIENCE
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_files_are_those_over_there(new_backend, here, there):
    files = new_backend().files(UNCONFINED)
    (there / "read").write_text("there")
    (here / "read").write_text("here")

    do(files.apply, [WriteFile(str(here / "folder" / "made"), b"new")])

    assert do(files.read, str(here / "read")) == b"there"
    assert do(files.read, str(there / "read")) == b"there"
    assert (there / "folder" / "made").read_text() == "new"
    assert [entry.name for entry in do(files.list, str(here))] == ["folder", "read"]
    assert os.listdir(here) == ["read"]


def test_nothing_that_confines_runs_where_nothing_confines(new_backend, here):
    backend = new_backend()
    policy = ResolvedPolicy("workspace-write", str(here), (WritableRoot(str(here)),))

    found = backend.probe()

    assert (found.enforced, found.local_files) == (frozenset(), False)
    assert "NOT CONFINED" in found.reason
    with pytest.raises(PolicyUnenforceableError, match="nothing confines commands on"):
        backend.prepare(policy, Command(("true",), str(here), {}))
    with pytest.raises(PolicyUnenforceableError):
        do(backend.files(policy).read, str(here / "read"))


def test_a_sandbox_over_there_confines_commands_and_files(new_backend, run, here, there):
    words = ["sh", "-c", 'echo "$0" "$1" > "$1/policy"; shift; exec "$@"', "{mode} {network}"]
    backend = new_backend(prefix=[*words, "{cwd}"], enforces=["filesystem", "network"])
    policy = ResolvedPolicy(
        "workspace-write", str(here), (WritableRoot(str(here), (f"{here}/.git",)),)
    )

    said, code = run("echo", "ran", backend=backend, policy=policy)

    assert (said, code) == (b"ran\n", 0)
    assert (there / "policy").read_text() == f"workspace-write false {there}\n"
    assert backend.probe().enforced == {"filesystem", "network"}
    files = backend.files(policy)
    do(files.apply, [WriteFile(str(here / "allowed"), b"x")])
    for refused in (here / ".git" / "config", there / ".git" / "config", "/etc/made"):
        with pytest.raises(SandboxDeniedError):
            do(files.apply, [WriteFile(str(refused), b"x")])


def test_a_machine_that_is_not_known_is_not_trusted(new_backend, here, tmp_path):
    backend = new_backend(known_hosts=str(tmp_path / "nobody"))

    with pytest.raises(SandboxUnavailableError, match="Host key verification failed"):
        backend.prepare(UNCONFINED, Command(("true",), str(here), {}))


def test_the_agent_is_not_handed_on(run, new_backend, tmp_path):
    said, _ = run("sh", "-c", "echo ${SSH_AUTH_SOCK:-none}; ls /tmp/ssh-*/agent.* 2>/dev/null")

    assert said == b"none\n"
