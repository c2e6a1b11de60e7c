"""Nothing a command started outlives its owner, and nothing it was given is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import anyio
import pytest

from ferrule.lineage import process_table
from ferrule.processes import ProcessOwner
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import Launch

# Each leaves its command in another way: its group, its session, its parent.
LEAVERS = [
    pytest.param("sleep 600", id="the command itself"),
    pytest.param("sleep 600 & echo; wait", id="a child"),
    pytest.param("nohup sleep 600 >/dev/null 2>&1 & echo", id="nohup in the background"),
    pytest.param("setsid sleep 600 & echo; wait", id="a session of its own"),
    pytest.param("setsid -f sleep 600; echo; sleep 600", id="a daemon beside its command"),
    pytest.param("setsid -f sleep 600; echo", id="a daemon after its command"),
    pytest.param("trap '' TERM INT HUP; echo; sleep 600; sleep 600", id="deaf to polite signals"),
]


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


def marked(mark: str) -> list[int]:
    """Processes that carry the mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def zombies() -> set[int]:
    table = process_table()
    return {one.pid for one in table if one.parent == os.getpid() and one.is_zombie}


def launch(script: str, mark: str = "", **options) -> Launch:
    return Launch(("/bin/bash", "-c", script), {**os.environ, "MARK": mark}, "/", **options)


@pytest.mark.parametrize("script", LEAVERS)
@pytest.mark.parametrize("ending", ["aclose", "kill_all"])
def test_the_owners_end_ends_everything(script, ending, mark):
    async def main() -> list[int]:
        owner = ProcessOwner()
        process = await owner.spawn(launch(script, mark))
        if "echo" in script:
            await process.read()
        if ending == "aclose":
            await owner.aclose()
        else:
            owner.kill_all()
        return owner.alive()

    assert anyio.run(main) == []
    assert marked(mark) == []


@pytest.mark.parametrize("script", [leaver for leaver in LEAVERS if "daemon" not in leaver.id])
def test_killing_a_command_kills_what_it_started(script, mark):
    async def main() -> None:
        owner = ProcessOwner()
        process = await owner.spawn(launch(script, mark))
        if "echo" in script:
            await process.read()
        process.kill()
        await process.wait()
        with anyio.fail_after(120):
            while marked(mark):  # the kernel takes a moment to tear them down
                await anyio.sleep(0.005)
        await owner.aclose()

    anyio.run(main)


def test_a_killed_kernel_leaves_nothing(mark, tmp_path):
    program = tmp_path / "kernel.py"
    program.write_text(
        "import os, anyio\n"
        "from ferrule.processes import ProcessOwner\n"
        "from ferrule_hookspecs.sandbox import Launch\n"
        "async def main():\n"
        "    owner = ProcessOwner()\n"
        "    for script in ('sleep 600', 'sleep 600; sleep 600', 'sleep 600 &'):\n"
        "        await owner.spawn(Launch(('/bin/bash', '-c', script), dict(os.environ), '/'))\n"
        "    await anyio.sleep(0.2)\n"
        "    print('ready', flush=True)\n"
        "    await anyio.sleep(600)\n"
        "anyio.run(main)\n"
    )
    kernel = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, env={**os.environ, "MARK": mark}
    )
    with kernel:
        assert kernel.stdout is not None
        assert kernel.stdout.readline() == b"ready\n"
        assert len(marked(mark)) >= 4
        kernel.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 120
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert marked(mark) == []


@pytest.mark.parametrize("own_session", [False, True], ids=["our session", "its own session"])
def test_nobody_elses_exit_status_is_taken(own_session):
    ended = subprocess.Popen(["sh", "-c", "exit 7"], start_new_session=own_session)
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)

    async def main() -> None:
        owner = ProcessOwner()
        process = await owner.spawn(launch("setsid -f true; true"))
        await process.wait()
        await owner.aclose()

    anyio.run(main)
    assert ended.wait() == 7


def test_children_of_the_host_are_left_alone():
    host_child = subprocess.Popen(["sleep", "600"])

    async def main() -> None:
        owner = ProcessOwner()
        await owner.spawn(launch("setsid -f sleep 600; sleep 600"))
        await owner.aclose()

    try:
        anyio.run(main)
        assert host_child.poll() is None
    finally:
        host_child.kill()
        host_child.wait()


def test_strays_do_not_pile_up_as_zombies():
    async def main() -> None:
        owner = ProcessOwner()
        # What tests left that ran before in this process is none of this owner's.
        of_others = zombies() | set(owner.alive())
        daemon = await owner.spawn(launch("setsid -f sleep 0.1"))
        await daemon.wait()
        with anyio.fail_after(120):
            while (set(owner.alive()) | zombies()) - of_others:
                command = await owner.spawn(launch("sleep 0.1"))
                await command.wait()
        await owner.aclose()

    anyio.run(main)


def test_a_zombie_of_somebody_else_does_not_keep_strays_from_being_reaped():
    async def main() -> None:
        owner = ProcessOwner()
        before = zombies() | set(owner.alive())
        daemon = await owner.spawn(launch("setsid -f sleep 0.1"))
        await daemon.wait()
        with anyio.fail_after(120):
            while (set(owner.alive()) | zombies()) - before - {neglected.pid}:
                command = await owner.spawn(launch("sleep 0.1"))
                await command.wait()
        await owner.aclose()

    neglected = subprocess.Popen(["true"])
    os.waitid(os.P_PID, neglected.pid, os.WEXITED | os.WNOWAIT)
    anyio.run(main)

    assert neglected.wait() == 0


def test_owners_do_not_end_each_others_commands(mark):
    async def main() -> None:
        first, second = ProcessOwner(), ProcessOwner()
        process = await second.spawn(launch("sleep 600 & wait", mark))
        await first.aclose()
        assert second.alive() == [process.pid]
        await second.aclose()

    anyio.run(main)


@pytest.mark.parametrize("options", [{}, {"tty": True}, {"separate_stderr": True}], ids=str)
def test_output_that_nobody_can_read_any_more_holds_no_descriptor(options):
    """Its session may go on for days after the time limit of one command."""

    async def main():
        owner = ProcessOwner()
        await (await owner.spawn(launch("true"), **options)).wait()
        before = sorted(os.listdir("/proc/self/fd"))
        process = await owner.spawn(launch("echo unread; exec sleep 100"), **options)
        process.kill()
        await process.wait()
        del process
        after = sorted(os.listdir("/proc/self/fd"))
        await owner.aclose()
        return before, after

    before, after = anyio.run(main)

    assert after == before


def test_no_descriptor_stays_open():
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def main() -> tuple[int, int]:
        owner = ProcessOwner()
        before = count()
        for tty, stdin in ((False, False), (False, True), (True, False)):
            read = await owner.spawn(launch("echo text"), tty=tty, open_stdin=stdin)
            while await read.read():
                pass
            await read.wait()
            await owner.spawn(launch("sleep 600"), tty=tty, open_stdin=stdin)  # never read
            with pytest.raises(FileNotFoundError):
                await owner.spawn(Launch(("/nowhere",), {}, "/"), tty=False, open_stdin=stdin)
        await owner.aclose()
        return before, count()

    before, after = anyio.run(main)
    assert after == before


class Calls:
    def __init__(self) -> None:
        self.names: list[str] = []

    def launch(self, argv: tuple[str, ...], cwd: str = "/") -> Launch:
        return Launch(
            argv,
            dict(os.environ),
            cwd,
            started=lambda: self.names.append("started"),
            cleanup=lambda: self.names.append("cleanup"),
        )


@pytest.mark.parametrize("ending", ["by itself", "kill", "aclose", "kill_all", "cancelled"])
def test_a_launch_is_cleaned_up_once_however_it_ends(ending):
    calls = Calls()

    async def main() -> None:
        owner = ProcessOwner()
        argv = ("/bin/true",) if ending == "by itself" else ("/bin/sleep", "600")
        with anyio.CancelScope() as scope:
            if ending == "cancelled":
                scope.cancel()
            process = await owner.spawn(calls.launch(argv))
            if ending == "kill":
                process.kill()
            if ending in ("by itself", "kill"):
                await process.wait()
            if ending == "kill_all":
                owner.kill_all()
            await process.read()
        await owner.aclose()

    if ending == "aclose":

        async def close() -> None:
            owner = ProcessOwner()
            await owner.spawn(calls.launch(("/bin/sleep", "600")))
            await owner.aclose()

        anyio.run(close)
    else:
        anyio.run(main)
    assert calls.names == ["started", "cleanup"]


@pytest.mark.parametrize(
    ("argv", "cwd"),
    [
        pytest.param(("/nowhere",), "/", id="no such program"),
        pytest.param(("/bin/true",), "/nowhere", id="no such folder"),
    ],
)
def test_a_launch_that_fails_is_cleaned_up_once(argv, cwd):
    calls = Calls()

    async def main() -> None:
        owner = ProcessOwner()
        with pytest.raises(FileNotFoundError):
            await owner.spawn(calls.launch(argv, cwd))
        assert owner.alive() == []
        await owner.aclose()

    anyio.run(main)
    assert calls.names == ["cleanup"]


def test_nothing_starts_after_the_end():
    calls = Calls()

    async def main() -> None:
        owner = ProcessOwner()
        await owner.aclose()
        with pytest.raises(OSError, match="session has ended"):
            await owner.spawn(calls.launch(("/bin/true",)))

    anyio.run(main)
    assert calls.names == ["cleanup"]


def test_a_signal_goes_where_the_launch_says():
    got: list[tuple[int, int]] = []

    async def main() -> None:
        owner = ProcessOwner()
        forwarding = launch("sleep 600", forward_signal=lambda pid, n: not got.append((pid, n)))
        process = await owner.spawn(forwarding)
        process.send_signal(signal.SIGUSR1)
        assert got == [(process.pid, signal.SIGUSR1)]
        plain = await owner.spawn(launch("sleep 600"))
        plain.send_signal(signal.SIGTERM)
        assert await plain.wait() == 128 + signal.SIGTERM
        await owner.aclose()

    anyio.run(main)


def test_descriptors_of_the_launch_are_inherited():
    async def main() -> bytes:
        ours, theirs = os.pipe()
        os.write(theirs, b"through")
        os.close(theirs)
        owner = ProcessOwner()
        passing = launch(f"cat <&{ours}", pass_fds=(ours,), started=lambda: os.close(ours))
        process = await owner.spawn(passing)
        data = await process.read()
        await owner.aclose()
        return data

    assert anyio.run(main) == b"through"


def test_a_sandbox_found_broken_at_the_end_is_an_error_of_the_command():
    def cleanup() -> None:
        raise SandboxUnavailableError("the protection was removed")

    async def main() -> None:
        owner = ProcessOwner()
        process = await owner.spawn(launch("true", cleanup=cleanup))
        with pytest.raises(SandboxUnavailableError, match="protection was removed"):
            await process.wait()
        await owner.aclose()

    anyio.run(main)
