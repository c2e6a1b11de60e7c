"""A program of the user runs to its end, within bounds, and leaves nothing behind."""

import os
import sys
import time

import anyio
import pytest

from ferrule_processes.program import Program, StartError, run_program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts")


def ran(script, given=b"", *, limit=1000, ends_at_limit=False, within_s=20.0):
    program = Program(["/bin/sh", "-c", script], "/", os.environ, limit, 100, ends_at_limit)

    async def main():
        with anyio.move_on_after(within_s):
            return await run_program(program, given)

    return anyio.run(main)


def is_gone(pid):
    """Wait for a process to be no more than a zombie."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def test_what_it_wrote_and_how_it_ended():
    finished = ran("cat; echo oops >&2; exit 3", b"hello")
    assert finished == (3, b"hello", b"oops\n", False)


def test_it_need_not_read_its_input():
    assert ran("exit 0", b"x" * 1_000_000).exit_code == 0


def test_output_is_kept_up_to_a_bound_and_the_program_goes_on():
    finished = ran("head -c 5000 /dev/zero; exit 4")
    assert (finished.exit_code, len(finished.stdout), finished.is_cut) == (4, 1000, True)


def test_one_that_must_not_write_more_is_ended():
    finished = ran("yes", ends_at_limit=True)
    assert finished.is_cut
    assert finished.exit_code != 0


def test_output_of_just_the_bound_is_whole():
    assert not ran("head -c 1000 /dev/zero", ends_at_limit=True).is_cut


def test_one_that_cannot_be_started_says_why():
    with pytest.raises(StartError, match="could not be started"):
        anyio.run(run_program, Program(["/no/such"], "/", {}, 1, 1), b"")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_it_left_running_ends_with_it():
    finished = ran("sleep 600 & echo $!; exit 0")
    assert is_gone(int(finished.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_deadline_ends_it_with_all_it_started(tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"

    async def main():
        async with anyio.create_task_group() as group:

            async def stop():
                while not pids.exists():
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()

            group.start_soon(stop)
            await run_program(Program(["/bin/sh", "-c", script], "/", os.environ, 1, 1), b"")

    anyio.run(main)
    assert all(is_gone(int(pid)) for pid in pids.read_text().split())
