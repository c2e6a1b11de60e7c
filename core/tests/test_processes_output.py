"""What a command writes, and how its end is told."""

from __future__ import annotations

import os
import resource
from functools import partial

import anyio
import pytest

from ferrule.processes import OwnedProcess, ProcessOwner
from ferrule_hookspecs.sandbox import Launch


def launch(script: str, **options) -> Launch:
    return Launch(("/bin/bash", "-c", script), dict(os.environ), "/", **options)


async def output_of(process: OwnedProcess) -> bytes:
    chunks = []
    while data := await process.read():
        chunks.append(data)
    return b"".join(chunks)


def run(script: str, **options) -> tuple[int, bytes]:
    async def main() -> tuple[int, bytes]:
        owner = ProcessOwner()
        try:
            process = await owner.spawn(launch(script), **options)
            output = await output_of(process)
            return await process.wait(), output
        finally:
            await owner.aclose()

    return anyio.run(main)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("true", 0, id="success"),
        pytest.param("exit 3", 3, id="exit code"),
        pytest.param("kill -TERM $$", 128 + 15, id="signal"),
        pytest.param("kill -KILL $$", 128 + 9, id="kill"),
    ],
)
def test_the_end_of_a_command_is_told_as_a_shell_tells_it(script, code):
    assert run(script) == (code, b"")


def test_stdout_and_stderr_keep_their_order():
    script = "for i in $(seq 200); do echo out $i; echo err $i >&2; done"
    expected = "".join(f"out {i}\nerr {i}\n" for i in range(1, 201))
    assert run(script) == (0, expected.encode())


def test_input_is_at_its_end_unless_it_is_kept_open():
    assert run("cat; echo end") == (0, b"end\n")


def test_a_background_process_that_holds_the_output_does_not_prolong_the_stream():
    with_survivor = "sleep 600 & echo started"
    assert run(with_survivor) == (0, b"started\n")


def test_a_terminal_has_24_rows_and_80_columns_and_controls_the_command():
    code, output = run(
        "test -t 0 && test -t 1 && test -t 2; stty size; echo ok >/dev/tty", tty=True
    )
    assert (code, output) == (0, b"24 80\r\nok\r\n")


def test_input_reaches_the_command():
    async def main() -> bytes:
        owner = ProcessOwner()
        process = await owner.spawn(launch("head -c 300000 | wc -c"), open_stdin=True)
        await process.write(b"x" * 300_000)  # more than a pipe holds
        output = await output_of(process)
        await owner.aclose()
        return output

    assert anyio.run(main).strip() == b"300000"


def test_writing_to_a_command_without_input_is_an_error():
    async def main() -> None:
        owner = ProcessOwner()
        process = await owner.spawn(launch("sleep 600"))
        try:
            with pytest.raises(BrokenPipeError):
                await process.write(b"x")
        finally:
            await owner.aclose()

    anyio.run(main)


def test_an_interrupted_terminal_interrupts_its_command():
    async def main() -> int:
        owner = ProcessOwner()
        process = await owner.spawn(launch("echo ready; sleep 600"), tty=True)
        assert await process.read() == b"ready\r\n"
        await process.write(b"\x03")
        code = await process.wait()
        await owner.aclose()
        return code

    assert anyio.run(main) == 130


def test_a_cancelled_read_loses_nothing():
    async def main() -> bytes:
        owner = ProcessOwner()
        process = await owner.spawn(launch("cat"), open_stdin=True)
        with anyio.move_on_after(0.01):
            await process.read()
        await process.write(b"all of it")
        with anyio.fail_after(120):
            output = await process.read()
        await owner.aclose()
        return output

    assert anyio.run(main) == b"all of it"


def test_a_gigabyte_streams_through_without_being_kept():
    async def main() -> int:
        owner = ProcessOwner()
        process = await owner.spawn(launch("head -c 1000000000 /dev/zero"))
        size = 0
        while data := await process.read():
            size += len(data)
        await owner.aclose()
        return size

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert anyio.run(main) == 1_000_000_000
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * 1024  # KiB


def test_many_commands_run_side_by_side():
    async def main() -> list[bytes]:
        owner = ProcessOwner()
        outputs: list[bytes] = [b""] * 20

        async def one(number: int) -> None:
            outputs[number] = await output_of(await owner.spawn(launch(f"echo {number}")))

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(partial(one, number))
        await owner.aclose()
        return outputs

    assert anyio.run(main) == [f"{number}\n".encode() for number in range(20)]


def test_an_interrupt_passes_by_a_wrapper_that_leaves_the_terminal_to_its_command():
    command = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"
    wrapper = f'/usr/bin/setsid -c /bin/bash -c "{command}"; code=$?; echo lives; exit $code'

    async def main() -> tuple[int, bytes]:
        owner = ProcessOwner()
        process = await owner.spawn(launch(wrapper, adopts_terminal=True), tty=True)
        assert await process.read() == b"ready\r\n"
        await process.write(b"\x03")
        output = await output_of(process)
        code = await process.wait()
        await owner.aclose()
        return code, output

    assert anyio.run(main) == (9, b"^Ccaught\r\nlives\r\n")


def test_stderr_can_be_read_apart():
    async def main() -> tuple[bytes, bytes]:
        owner = ProcessOwner()
        process = await owner.spawn(launch("echo out; echo err >&2"), separate_stderr=True)
        errors = await process.read_stderr()
        while data := await process.read_stderr():
            errors += data
        output = await output_of(process)
        await owner.aclose()
        return output, errors

    assert anyio.run(main) == (b"out\n", b"err\n")


def test_a_terminal_has_a_size_that_can_be_changed():
    async def main() -> list[bytes]:
        owner = ProcessOwner()
        script = "stty size; read line; stty size"
        process = await owner.spawn(launch(script), tty=True, size=(30, 90))
        first = await process.read()
        process.resize(10, 20)
        await process.write(b"\n")
        rest = await output_of(process)
        await owner.aclose()
        return [first, rest.splitlines()[-1]]

    assert anyio.run(main) == [b"30 90\r\n", b"10 20"]
