"""What a command is given in a container, how it ends, and what is left of it."""

import os
import pty
import select
import signal
import subprocess
from contextlib import contextmanager

import pytest

PATIENCE = 120
pytestmark = pytest.mark.slow


@contextmanager
def started(session, command):
    """Start a command; its launch is cleaned up when it has ended."""
    launch = session.backend.prepare(session.policy(), command)
    with subprocess.Popen(
        launch.argv,
        env=dict(launch.env),
        cwd=launch.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            yield child, launch
        finally:
            child.kill()
            child.wait()
            launch.cleanup()


def test_the_environment_is_exactly_what_was_given(inside):
    env = {"PATH": "/bin", "A": "b c'\n$d", "E": "\udcff\x81é", "x.y": "1"}

    def work(session):
        launch = session.backend.prepare(session.policy(), session.command("env", env=env))
        done = subprocess.run(launch.argv, env=launch.env, cwd=launch.cwd, capture_output=True)
        launch.cleanup()
        return done.stdout

    found = inside(work)

    assert found == b"".join(os.fsencode(f"{key}={value}\n") for key, value in env.items())


def test_arguments_arrive_byte_by_byte(inside):
    words = ["-n", "--", "", "a'b\"c$d\n", "\udcfe\x01\x81", "x" * 100_000]

    def work(session):
        command = session.command("printf", "%s|", *words)
        launch = session.backend.prepare(session.policy(), command)
        done = subprocess.run(launch.argv, env=launch.env, cwd=launch.cwd, capture_output=True)
        launch.cleanup()
        return done.stdout

    assert inside(work) == b"".join(os.fsencode(word) + b"|" for word in words)


def test_ends_are_told_as_a_shell_tells_them(inside):
    scripts = {"exit 42": 42, "exit 126": 126, "kill -9 $$": 137, "kill -15 $$": 143}

    def work(session):
        (session.workspace / "plain").write_text("x")
        found = {script: session.run("sh", "-c", script) for script in scripts}
        found["missing"] = session.run("no-such-program")
        found["plain"] = session.run("./plain")
        found["a=b"] = session.run("a=b")
        return {name: (done.returncode, done.stdout) for name, done in found.items()}

    found = inside(work)

    assert {script: found[script] for script in scripts} == {
        script: (code, "") for script, code in scripts.items()
    }
    assert [found[name][0] for name in ("missing", "plain", "a=b")] == [127, 126, 127]
    assert "no-such-program" in found["missing"][1]


def test_a_missing_working_directory_is_named(inside):
    def work(session):
        return session.run("true", cwd=session.workspace / "gone")

    done = inside(work)

    assert done.returncode == 1
    assert "workspace/gone does not exist" in done.stdout


def test_input_reaches_it_and_ends(inside):
    def work(session):
        with started(session, session.command("wc", "-c")) as (child, _):
            return child.communicate(b"x" * 300_000, timeout=PATIENCE)[0]

    assert inside(work).strip() == b"300000"


def test_it_has_a_terminal_where_one_was_asked_for(inside):
    def work(session):
        command = session.command("sh", "-c", "tty; read line; echo got $line")._replace(tty=True)
        launch = session.backend.prepare(session.policy(), command)
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            launch.argv, env=dict(launch.env), cwd="/", stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        said = read_until(ours, b"/dev/pts")
        os.write(ours, b"word\n")
        said += read_until(ours, b"got word")
        child.wait(PATIENCE)
        launch.cleanup()
        os.close(ours)
        return said

    assert b"got word" in inside(work)


def read_until(descriptor, words):
    said = b""
    while words not in said and select.select([descriptor], [], [], PATIENCE)[0]:
        said += os.read(descriptor, 4096)
    return said


def test_signals_reach_the_command(inside):
    script = "trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.1; done"

    def work(session):
        with started(session, session.command("sh", "-c", script)) as (child, launch):
            child.stdout.readline()
            assert launch.forward_signal(child.pid, signal.SIGTERM)
            return child.communicate(timeout=PATIENCE)[0], child.returncode

    assert inside(work) == (b"ended\n", 7)


def test_nothing_of_a_command_is_left_when_it_has_ended(inside):
    def work(session):
        session.sh("sleep 3600 & (setsid sleep 3601 </dev/null >/dev/null 2>&1 &); echo begun")
        return session.sh("ps -o args,stat")

    assert "sleep" not in [line.split()[0] for line in inside(work).splitlines()]


def test_nothing_of_a_command_is_left_when_its_client_was_killed(inside):
    def work(session):
        script = "echo ready; sleep 3600"
        with started(session, session.command("sh", "-c", script)) as (child, _):
            child.stdout.readline()
            assert "sleep 3600" in session.sh("ps -o args")
            child.kill()
        return session.sh("ps -o args")

    assert "sleep 3600" not in inside(work)


def test_commands_of_a_session_share_a_container_and_its_end_takes_it_away(inside, podman):
    def work(session):
        session.sh("echo kept > /tmp/kept")
        assert session.sh("cat /tmp/kept") == "kept\n"
        return session.run("hostname").stdout

    assert inside(work)
    assert podman.containers() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_session_leaves_neither_container_nor_stand_in(inside, podman, place):
    def work(session):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            session.run("true", policy=session.policy(forbidden=[".codex"]))
            os.write(writer, b".")
            signal.pause()
        os.close(writer)
        assert os.read(reader, 1) == b"."
        assert (session.workspace / ".codex").is_dir()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)

    inside(work)

    wait_until(lambda: podman.containers() == [])
    wait_until(lambda: not (place / "workspace" / ".codex").exists())


def wait_until(holds):
    """Await something that no event tells of."""
    import time

    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
