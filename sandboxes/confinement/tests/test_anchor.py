"""The script that stands for a session where its commands run, under the shells there are."""

import os
import shutil
import subprocess
import time
from contextlib import closing

import anyio
import pytest

from ferrule_confinement.anchor import Anchor
from ferrule_confinement.anchor_script import MACHINE_ANCHOR
from ferrule_confinement.far_command import command_script
from ferrule_confinement.far_files import FarFiles
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.sandbox import (
    Command,
    DirectoryEntry,
    FileStat,
    RemoveFile,
    ResolvedPolicy,
    WritableRoot,
    WriteFile,
)
from ferrule_hookspecs.tools import SandboxDeniedError
from ferrule_testkit.processes import is_running

SHELLS = {"dash": ["dash"], "bash": ["bash"], "busybox": ["busybox", "sh"]}
ODD_NAME = "odd 'name'\n\udcff$é"


@pytest.fixture(params=SHELLS)
def anchor(request):
    words = SHELLS[request.param]
    program = shutil.which(words[0])
    if program is None:
        pytest.skip(f"there is no {words[0]} here")
    with closing(Anchor([program, *words[1:], "-c", MACHINE_ANCHOR], {"PATH": os.defpath})) as it:
        it.folder = it.first_line()
        yield it


@pytest.fixture
def files(anchor, tmp_path):
    """Files below a workspace in which `.git` is protected."""
    root = str(tmp_path)
    policy = ResolvedPolicy("workspace-write", root, (WritableRoot(root, (f"{root}/.git",)),))
    return FarFiles(policy, lambda: anchor)


def do(function, *arguments, **options):
    async def work():
        return await function(*arguments, **options)

    return anyio.run(work)


@pytest.mark.parametrize("name", ["plain", ODD_NAME, "-n", ".hidden"])
def test_what_is_written_is_there(files, tmp_path, name):
    data = bytes(range(256)) * 1000
    path = str(tmp_path / "new" / name)

    do(files.apply, [WriteFile(path, data, 0o750)])

    assert (tmp_path / "new" / name).read_bytes() == data
    assert do(files.read, path) == data
    assert do(files.read, path, limit=3) == data[:3]
    assert do(files.stat, path) == FileStat("file", len(data), 0o750)
    assert do(files.list, str(tmp_path / "new")) == [DirectoryEntry(name, "file")]


def test_a_file_keeps_its_permissions(files, tmp_path):
    path = tmp_path / "script"
    path.write_text("old")
    path.chmod(0o755)

    do(files.apply, [WriteFile(str(path), b"new")])

    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o755)


def test_kinds_are_told_apart(files, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")

    found = do(files.list, str(tmp_path))

    assert [tuple(entry) for entry in found] == [
        ("folder", "directory"),
        ("link", "symlink"),
        ("pipe", "other"),
    ]
    assert do(files.stat, str(tmp_path / "link")).kind == "directory"
    assert do(files.stat, str(tmp_path / "nothing")) is None


def test_edits_are_made_all_or_none(files, tmp_path):
    (tmp_path / "kept").write_text("old")
    (tmp_path / "folder").mkdir()
    edits = [
        WriteFile(str(tmp_path / "kept"), b"new"),
        WriteFile(str(tmp_path / "made" / "below"), b"new"),
        RemoveFile(str(tmp_path / "folder")),
    ]

    with pytest.raises(IsADirectoryError):
        do(files.apply, edits)

    assert (tmp_path / "kept").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["folder", "kept"]


def test_nothing_is_left_beside_edited_files(files, tmp_path):
    (tmp_path / "gone").write_text("x")

    do(files.apply, [WriteFile(str(tmp_path / "a"), b"a"), RemoveFile(str(tmp_path / "gone"))])

    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", [".git/config", "link/config", "../outside", "out/x"])
def test_what_the_policy_refuses_is_refused_through_links_too(files, tmp_path, name):
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    (tmp_path / "out").symlink_to("..")

    with pytest.raises(SandboxDeniedError):
        do(files.apply, [WriteFile(str(tmp_path / name), b"x")])

    assert os.listdir(tmp_path / ".git") == []


@pytest.mark.parametrize(
    ("name", "error"),
    [("none", FileNotFoundError), (".", IsADirectoryError), ("file/x", NotADirectoryError)],
)
def test_failures_are_those_of_files(files, tmp_path, name, error):
    (tmp_path / "file").write_text("x")

    with pytest.raises(error):
        do(files.read, str(tmp_path / name))


def run(anchor, command, number="1"):
    """Run a command by its script, as the backend of a machine does."""
    path = f"{anchor.folder}/{number}.sh"
    anchor.write(path, command_script(command, before=f"echo $$ >{anchor.folder}/{number}.pid\n"))
    return subprocess.Popen(["/bin/sh", path], stdout=subprocess.PIPE, start_new_session=True)


def test_a_command_gets_exactly_its_environment(anchor, tmp_path):
    command = Command(("env",), str(tmp_path), {"PATH": os.defpath, "A": ODD_NAME, "x.y": "1"})

    with run(anchor, command) as process:
        said = process.communicate()[0]

    lines = [f"PATH={os.defpath}", f"A={ODD_NAME}", "x.y=1", ""]
    assert said == os.fsencode("\n".join(lines))


def test_what_a_command_left_ends_with_it(anchor, tmp_path):
    command = Command(
        ("sh", "-c", "sleep 3600 & echo $!; exit 3"), str(tmp_path), {"PATH": os.defpath}
    )

    with run(anchor, command) as process:
        left = int(process.communicate()[0])

    assert process.returncode == 3
    await_end(left)


def test_a_command_is_signalled_by_its_number(anchor, tmp_path):
    command = Command(("sh", "-c", "echo go; sleep 3600"), str(tmp_path), {"PATH": os.defpath})

    with run(anchor, command) as process:
        process.stdout.readline()
        anchor.ask("signal", "1", "15")

    assert process.returncode == 143


def test_commands_end_with_the_anchor(anchor, tmp_path):
    command = Command(("sh", "-c", "echo go; sleep 3600"), str(tmp_path), {"PATH": os.defpath})

    with run(anchor, command) as process:
        process.stdout.readline()
        anchor.close()

    assert process.returncode != 0
    assert not os.path.exists(anchor.folder)


def test_an_anchor_that_is_gone_is_said_to_be():
    anchor = Anchor(["/bin/sh", "-c", "echo 'no such host' >&2; exit 255"], {})

    with closing(anchor), pytest.raises(SandboxUnavailableError, match="no such host"):
        anchor.ask("ping")


@pytest.mark.parametrize("answer", ["zz\\n.", "66 6f 6f 0a 30\\n."])
def test_an_anchor_that_somebody_got_hold_of_harms_nobody(answer):
    anchor = Anchor(["/bin/sh", "-c", f"read -r line; printf '{answer}\\n'"], {})
    files = FarFiles(ResolvedPolicy("read-only", "/"), lambda: anchor)

    with closing(anchor), pytest.raises((SandboxUnavailableError, OSError)):
        do(files.stat, "/etc")


def await_end(pid):
    """Await the end of a process that is nobody's child here."""
    deadline = time.monotonic() + 120
    while is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
