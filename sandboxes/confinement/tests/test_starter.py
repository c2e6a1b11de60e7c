"""The program made in memory: its instructions, its file, and what it does."""

import os
import platform
import re
import shutil
import struct
import subprocess

import pytest

from ferrule_confinement.machine_code import CODE, LISTINGS
from ferrule_confinement.starter import Data, Starter

DUMPERS = {
    "x86_64": ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel"],
    "aarch64": ["aarch64-linux-gnu-objdump", "-D", "-b", "binary", "-m", "aarch64"],
}
EMULATORS = {"aarch64": "qemu-aarch64-static"}
NO_NEW_PRIVILEGES = 38
# What a disassembler calls by another name than we do.
SYNONYMS = {"b.cc": "b.lo", "movabs": "mov"}


def lines(listing):
    return [[column.strip() for column in line.split("|")] for line in listing.strip().splitlines()]


@pytest.mark.parametrize("machine", CODE)
def test_a_disassembler_reads_the_instructions_as_we_do(machine, tmp_path):
    if shutil.which(DUMPERS[machine][0]) is None:
        pytest.skip(f"needs {DUMPERS[machine][0]}")
    (tmp_path / "code").write_bytes(CODE[machine])
    dump = subprocess.run(
        [*DUMPERS[machine], tmp_path / "code"], check=True, capture_output=True, text=True
    ).stdout
    read = re.findall(r"^\s*[0-9a-f]+:\t([0-9a-f ]+?)\s*\t([a-z.]+)", dump, re.MULTILINE)

    written = [(code, words.split()[0]) for code, words, _ in lines(LISTINGS[machine])]
    assert [(code, SYNONYMS.get(name, name)) for code, name in read] == written


@pytest.mark.parametrize("machine", CODE)
def test_the_file_is_a_small_program(machine):
    content = Starter(machine=machine).elf(9)
    assert content.startswith(b"\x7fELF\x02\x01\x01")
    assert len(content) < 1024


@pytest.mark.parametrize("machine", CODE)
def test_readelf_finds_nothing_wrong(machine, tmp_path):
    if shutil.which("readelf") is None:
        pytest.skip("needs readelf")
    (tmp_path / "starter").write_bytes(Starter(machine=machine).elf(9))
    ended = subprocess.run(
        ["readelf", "-hl", tmp_path / "starter"], check=True, capture_output=True, text=True
    )
    assert ended.stderr == ""
    assert "R E" in ended.stdout
    assert "RWE" not in ended.stdout


@pytest.fixture(params=list(CODE))
def start(request):
    """Starts a program through a starter of each architecture that can be run here."""
    machine = request.param
    emulator = [] if machine == platform.machine() else [EMULATORS.get(machine, "")]
    if emulator and shutil.which(emulator[0]) is None:
        pytest.skip(f"needs an emulator of {machine}")

    def start(program, *argv, calls=(("prctl", NO_NEW_PRIVILEGES, 1),)):
        starter = Starter(machine=machine)
        for call in calls:
            starter.call(*call)
        ours, theirs = os.pipe()
        opened = starter.open(theirs)
        ended = subprocess.run(
            [*emulator, f"/proc/self/fd/{opened}", program, *argv],
            pass_fds=[opened, theirs],
            capture_output=True,
            env={"PATH": "/usr/bin:/bin", "ONE": "1"},
        )
        os.close(theirs)
        os.close(opened)
        return ended, starter.read_report(ours)

    return start


def test_it_makes_its_calls_and_becomes_the_program(start):
    ended, failure = start("/bin/grep", "grep", "NoNewPrivs", "/proc/self/status")
    assert (ended.returncode, ended.stdout, failure) == (0, b"NoNewPrivs:\t1\n", None)


def test_arguments_and_environment_arrive(start):
    ended, _ = start("/bin/sh", "my-name", "-c", 'echo "$0|$1|$2|$ONE"', "a", "", "\udcff ")
    assert ended.stdout == b"a||\xff |1\n"


def test_a_program_without_arguments_but_its_name_runs(start):
    assert start("/bin/true", "true")[0].returncode == 0


def test_a_script_without_a_first_line_goes_to_the_shell(start, tmp_path):
    script = tmp_path / "script"
    script.write_text('echo "$0 $1"\n')
    script.chmod(0o755)
    ended, _ = start(str(script), "script", "x")
    assert ended.stdout.decode() == f"{script} x\n"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"#!/no/such/interpreter\n", 127), (b"\x7fELF nonsense", 126), (None, 127)],
    ids=["interpreter", "nonsense", "missing"],
)
def test_what_cannot_be_run_ends_as_in_a_shell(start, tmp_path, content, code):
    program = tmp_path / "program"
    if content is not None:
        program.write_bytes(content)
        program.chmod(0o755)
    ended, failure = start(str(program), "program")
    if content == b"\x7fELF nonsense":
        assert ended.returncode in (code, 2, 127)  # the shell has tried to read it
    else:
        assert ended.returncode == code
        assert b"does not exist" in ended.stderr
    assert failure is None


def test_a_call_that_fails_is_named_and_nothing_runs(start, tmp_path):
    limit = Data(struct.pack("<2Q", 0, 0))
    calls = [
        ("prctl", NO_NEW_PRIVILEGES, 1),
        ("prlimit64", 0, 4, limit),
        ("landlock_restrict_self", 12345),
        ("prctl", NO_NEW_PRIVILEGES, 1),
    ]
    ended, failure = start("/bin/touch", "touch", str(tmp_path / "x"), calls=calls)
    assert ended.returncode == 125
    assert failure.startswith("landlock_restrict_self: ")
    assert not (tmp_path / "x").exists()


def test_what_lies_in_memory_cannot_be_changed_any_more():
    opened = Starter(machine=next(iter(CODE))).open(9)
    with (
        pytest.raises(PermissionError),
        open(f"/proc/self/fd/{opened}", "r+b", buffering=0) as file,
    ):
        file.write(b"x")
    os.close(opened)
