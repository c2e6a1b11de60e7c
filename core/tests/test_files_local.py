"""File access of tools, under a policy."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import anyio
import pytest

from ferrule.files import LocalFiles
from ferrule.folder_walk import open_folder
from ferrule_hookspecs.sandbox import RemoveFile, ResolvedPolicy, WritableRoot, WriteFile
from ferrule_hookspecs.tools import SandboxDeniedError


@pytest.fixture
def place(tmp_path):
    for name in ("workspace", "outside", "secret"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def workspace(place):
    return place / "workspace"


@pytest.fixture
def files(place, workspace):
    policy = ResolvedPolicy(
        "workspace-write",
        str(workspace),
        (WritableRoot(str(workspace)),),
        deny_read=(str(place / "secret"),),
    )
    return LocalFiles(policy)


def apply(files, *edits):
    anyio.run(files.apply, edits)


def snapshot(folder):
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_files_and_their_folders_are_created(files, workspace):
    apply(files, WriteFile(str(workspace / "a/b/c"), b"x"), WriteFile(str(workspace / "d"), b"y"))
    assert (workspace / "a/b/c").read_bytes() == b"x"
    assert anyio.run(files.read, str(workspace / "d")) == b"y"


def test_permissions_are_kept_given_or_usual(files, workspace):
    (workspace / "tool").write_text("old")
    (workspace / "tool").chmod(0o750)
    edits = [WriteFile(str(workspace / name), b"new") for name in ("tool", "plain")]
    apply(files, *edits, WriteFile(str(workspace / "given"), b"new", 0o600))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in workspace.iterdir()}
    assert modes == {"tool": 0o750, "plain": 0o666 & ~umask(), "given": 0o600}


def umask():
    value = os.umask(0)
    os.umask(value)
    return value


def test_a_link_inside_the_workspace_is_written_through(files, workspace):
    (workspace / "real").write_text("old")
    (workspace / "link").symlink_to("real")
    apply(files, WriteFile(str(workspace / "link"), b"new"))
    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_bytes() == b"new"


@pytest.mark.parametrize(
    "bad",
    [
        RemoveFile("workspace/missing"),
        WriteFile("workspace/folder", b"x"),
        WriteFile("workspace/file/below", b"x"),
        RemoveFile("workspace/folder"),
    ],
    ids=["remove-missing", "write-folder", "below-file", "remove-folder"],
)
def test_one_edit_that_fails_undoes_all_others(files, place, workspace, bad):
    (workspace / "folder").mkdir()
    (workspace / "file").write_text("old")
    (workspace / "file").chmod(0o640)
    (workspace / "gone").write_text("old")
    before, inode = snapshot(workspace), (workspace / "file").stat().st_ino
    bad = type(bad)(str(place / bad.path), *([b"x"] if isinstance(bad, WriteFile) else []))
    with pytest.raises(OSError, match=r"workspace/(missing|folder|file)") as caught:
        apply(
            files,
            WriteFile(str(workspace / "file"), b"new", 0o777),
            WriteFile(str(workspace / "new/deep/er"), b"new"),
            RemoveFile(str(workspace / "gone")),
            bad,
        )
    assert ".ferrule-edit" not in str(caught.value)
    assert snapshot(workspace) == before
    assert (workspace / "file").stat().st_ino == inode
    assert sorted(path.name for path in workspace.iterdir()) == ["file", "folder", "gone"]


def test_one_edit_that_is_refused_prevents_all(files, place, workspace):
    with pytest.raises(SandboxDeniedError, match="outside of the writable folders") as caught:
        apply(
            files,
            WriteFile(str(workspace / "fine"), b"x"),
            WriteFile(str(place / "outside" / "bad"), b"x"),
        )
    assert caught.value.denial.path == str(place / "outside" / "bad")
    assert list(workspace.iterdir()) == []


def test_the_same_file_may_be_edited_twice_in_one_batch(files, workspace):
    path = str(workspace / "twice")
    apply(files, WriteFile(path, b"1"), RemoveFile(path), WriteFile(path, b"2"))
    assert snapshot(workspace)["twice"][0] == b"2"
    assert len(list(workspace.iterdir())) == 1


def test_large_files_are_written_and_read_whole(files, workspace):
    data = os.urandom(3 * 1024 * 1024)
    apply(files, WriteFile(str(workspace / "large"), data))
    assert anyio.run(files.read, str(workspace / "large")) == data


def test_reading_stops_at_its_limit(files, workspace):
    (workspace / "file").write_bytes(b"0123456789")

    async def read():
        return await files.read(str(workspace / "file"), limit=4)

    assert anyio.run(read) == b"0123"


def test_denied_files_are_not_read(files, place, workspace):
    (place / "secret" / "key").write_text("secret")
    (workspace / "door").symlink_to(place / "secret" / "key")
    for path in (place / "secret" / "key", workspace / "door"):
        with pytest.raises(SandboxDeniedError, match="may not be read"):
            anyio.run(files.read, str(path))


def test_a_pipe_is_not_waited_for(files, workspace):
    os.mkfifo(workspace / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        anyio.run(files.read, str(workspace / "pipe"))


def test_folders_are_listed_by_name_with_kinds(files, workspace):
    (workspace / "b").mkdir()
    (workspace / "a").write_text("")
    (workspace / "c").symlink_to("a")
    entries = anyio.run(files.list, str(workspace))
    kinds = [(entry.name, entry.kind) for entry in entries]
    assert kinds == [("a", "file"), ("b", "directory"), ("c", "symlink")]


def test_what_is_missing_has_no_facts(files, workspace):
    assert anyio.run(files.stat, str(workspace / "missing")) is None
    (workspace / "file").write_text("xyz")
    facts = anyio.run(files.stat, str(workspace / "file"))
    assert (facts.kind, facts.size) == ("file", 3)


def test_a_folder_swapped_for_a_link_never_leads_outside(files, place, workspace):
    """Somebody swaps a folder for a link to the outside, over and over, while tools write."""
    stop = threading.Event()
    (workspace / "swap").mkdir()

    def swap():
        number = 0
        while not stop.is_set():
            number += 1
            with contextlib.suppress(OSError):
                os.rename(workspace / "swap", workspace / f"kept-{number}")
                os.symlink(place / "outside", workspace / "swap")
                os.unlink(workspace / "swap")
                os.mkdir(workspace / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for number in range(300):
            try:
                apply(files, WriteFile(str(workspace / "swap" / str(number)), b"x"))
            except (OSError, SandboxDeniedError):
                continue
    finally:
        stop.set()
        thread.join()
    assert list((place / "outside").iterdir()) == []


def test_a_path_that_was_judged_is_not_walked_through_a_link(place, workspace):
    (workspace / "door").symlink_to(place / "outside")
    for created in (None, []):
        with pytest.raises(NotADirectoryError, match="workspace/door"):
            open_folder(str(workspace / "door" / "new"), created)
    assert list((place / "outside").iterdir()) == []


KILLED = """
import anyio, sys
from ferrule.files import LocalFiles
from ferrule_hookspecs.sandbox import ResolvedPolicy, WriteFile
root = sys.argv[1]
files = LocalFiles(ResolvedPolicy("danger-full-access", root, unconfined=True))
print("ready", flush=True)
for number in range(100_000):
    text = str(number % 10).encode() * 4096
    anyio.run(files.apply, [WriteFile(f"{root}/{name}", text) for name in "abc"])
"""


def test_a_kill_leaves_every_file_whole(files, workspace):
    for moment in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(workspace)], stdout=subprocess.PIPE
        )
        with child:
            assert child.stdout is not None
            child.stdout.readline()
            while not (workspace / "c").exists():
                pass
            threading.Event().wait(0.01 * moment)
            child.send_signal(signal.SIGKILL)
        for name in "abc":
            data = (workspace / name).read_bytes()
            assert data == data[:1] * 4096
        litter = {path.name for path in workspace.iterdir()} - set("abc")
        assert all(name.startswith(".ferrule-edit-") for name in litter)


def test_what_a_killed_process_left_is_swept_away_later(files, workspace, monkeypatch):
    ended = subprocess.Popen(["true"])
    ended.wait()
    stale = workspace / f".ferrule-edit-{ended.pid}-0"
    ours = workspace / f".ferrule-edit-{os.getpid()}-900000"
    for path in (stale, ours):
        path.write_text("x")
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    apply(files, WriteFile(str(workspace / "file"), b"x"))
    assert not stale.exists()
    assert ours.exists()
