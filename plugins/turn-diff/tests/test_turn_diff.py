"""What a turn changed is told as git would, in repositories and outside of them."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import TurnInfo
from ferrule_turn_diff import diff_text, workspace
from ferrule_turn_diff.hooks import ferrule_turn_diff
from ferrule_turn_diff.storage import new_folder


class Turn:
    """One turn in a workspace; its first call marks the beginning."""

    def __init__(self, root: Path, turn_id: str = "turn", thread_id: str = "") -> None:
        self.root = root
        self._context = PluginContext(root.parent / "home", {})
        self._info = TurnInfo(thread_id or str(root), turn_id, str(root), "model")
        assert self.diff() in ("", None)

    def diff(self) -> str | None:
        return ferrule_turn_diff(self._info, self._context)


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e@x", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def all_files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(params=["repository", "folder"])
def root(request, tmp_path):
    """A workspace with three files, tracked or not."""
    made = tmp_path / "work"
    made.mkdir()
    for name, text in (("gone.txt", "bye\n"), ("old.txt", "alpha\nbeta\n"), ("same.txt", "s\n")):
        (made / name).write_text(text)
    if request.param == "repository":
        git(made, "init", "-q")
        git(made, "add", ".")
        git(made, "commit", "-qm", "first")
    return made


def test_every_kind_of_change_is_told_with_whole_blob_names(root):
    turn = Turn(root)
    (root / "gone.txt").unlink()
    (root / "new.txt").write_text("line one\nline two\n")
    (root / "old.txt").write_text("ALPHA\nbeta\n")

    assert turn.diff() == (
        "diff --git a/gone.txt b/gone.txt\n"
        "deleted file mode 100644\n"
        "index b023018cabc396e7692c70bbf5784a93d3f738ab.."
        "0000000000000000000000000000000000000000\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
        "diff --git a/new.txt b/new.txt\n"
        "new file mode 100644\n"
        "index 0000000000000000000000000000000000000000.."
        "e5c5c5583f49a34e86ce622b59363df99e09d4c6\n"
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+line one\n+line two\n"
        "diff --git a/old.txt b/old.txt\n"
        "index fbbee861521bd5355538b096fa3998541cd33909.."
        "5f081beaa59b7d9f7d883485cd39808a1e11cf67\n"
        "--- a/old.txt\n+++ b/old.txt\n@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n"
    )


def test_what_was_changed_before_the_turn_is_not_told(root):
    (root / "old.txt").write_text("dirty\n")
    (root / "untracked.txt").write_text("there before\n")
    turn = Turn(root)

    assert turn.diff() == ""
    (root / "old.txt").write_text("dirty\nmore\n")
    assert " dirty\n+more\n" in turn.diff()


def test_a_change_that_is_taken_back_is_none(root):
    turn = Turn(root)
    (root / "old.txt").write_text("x")
    assert turn.diff()
    (root / "old.txt").write_text("alpha\nbeta\n")

    assert turn.diff() == ""


def test_each_turn_begins_anew_and_threads_do_not_disturb_each_other(root):
    first = Turn(root, "one", "thread a")
    (root / "a.txt").write_text("a\n")
    other = Turn(root, "one", "thread b")
    (root / "b.txt").write_text("b\n")

    assert "a.txt" in first.diff()
    assert "a.txt" not in other.diff()
    assert "b.txt" in other.diff()
    assert Turn(root, "two", "thread a").diff() == ""


def test_a_commit_of_the_turn_does_not_hide_what_it_changed(root):
    turn = Turn(root)
    (root / "old.txt").write_text("committed\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "by the turn")

    assert "+committed" in turn.diff()


def test_nothing_is_written_to_the_user_s_repository_or_folder(root):
    before = all_files(root)
    turn = Turn(root)
    turn.diff()

    assert all_files(root) == before


def test_ignored_files_are_left_out(root):
    (root / ".gitignore").write_text("build/\n")
    turn = Turn(root)
    (root / "build").mkdir()
    (root / "build" / "out.o").write_text("x")

    assert turn.diff() == ""


def test_a_folder_inside_a_repository_tells_changes_of_all_of_it(tmp_path):
    (tmp_path / "work" / "sub").mkdir(parents=True)
    git(tmp_path / "work", "init", "-q")
    turn = Turn(tmp_path / "work" / "sub")
    (tmp_path / "work" / "top.txt").write_text("x\n")

    assert "b/top.txt" in turn.diff()


def test_what_a_repository_configures_is_never_run(root):
    git(root, "init", "-q")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.command"):
        git(root, "config", name, f"touch {root.parent}/ran; cat")
    (root / ".gitattributes").write_text("* filter=evil diff=evil\n")
    hook = root / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {root.parent}/ran\n")
    hook.chmod(0o755)
    turn = Turn(root)
    (root / "new.txt").write_text("x\n")

    assert "new.txt" in turn.diff()
    assert not (root.parent / "ran").exists()


def test_a_linked_working_tree_is_a_repository_too(tmp_path):
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / "f").write_text("x\n")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    turn = Turn(tmp_path / "linked")
    (tmp_path / "linked" / "f").write_text("y\n")

    assert "-x\n+y\n" in turn.diff()


def test_a_repository_of_another_kind_is_looked_at_as_a_folder(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    (root / "f").write_text("x\n")
    git(root, "add", ".")
    turn = Turn(root)
    (root / "f").write_text("y\n")

    assert "-x\n+y\n" in turn.diff()


def test_too_many_files_that_nothing_tracks_are_left_out_and_that_is_said(root, monkeypatch):
    monkeypatch.setattr(workspace, "_MOST_FILES", 5)
    git(root, "init", "-q")
    git(root, "add", ".")
    for number in range(6):
        (root / f"many{number}").write_text("x")
    turn = Turn(root)
    (root / "old.txt").write_text("changed\n")
    (root / "many0").write_text("y")

    told = turn.diff()

    assert told.startswith("# The diff is cut")
    assert "+changed" in told
    assert "many0" not in told


def test_a_long_diff_is_cut_between_files_and_that_is_said(root, monkeypatch):
    monkeypatch.setattr(diff_text, "_MOST_CHARACTERS", 500)
    turn = Turn(root)
    for name in "abcdef":
        (root / name).write_text("x\n" * 20)

    told = turn.diff()

    assert told.startswith("# The diff is cut: ")
    assert len(told) < 600
    assert told.count("+x\n") % 20 == 0


def test_without_git_nothing_is_told(root, monkeypatch):
    monkeypatch.setenv("PATH", str(root))

    assert Turn(root).diff() is None


def test_odd_files_do_no_harm(root):
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("/nowhere")
    (root / os.fsdecode(b"not\xffutf8")).write_text("x\n")
    (root / "binary").write_bytes(b"\0\1\2")
    turn = Turn(root)
    (root / "binary").write_bytes(b"\0\1\3")

    assert "Binary files a/binary and b/binary differ" in turn.diff()


def test_what_killed_processes_left_behind_is_removed(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    stale = tmp_path / "turn-diff" / f"{ended.pid}-x"
    stale.mkdir(parents=True)

    made = new_folder(tmp_path)

    assert not stale.exists()
    assert os.path.isdir(made)


def test_what_changed_within_the_second_of_its_commit_is_how_the_turn_found_it(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "-q")
    file = root / "a.txt"
    for number in range(100):  # until both fall into one second
        file.write_text(f"commit {number:03}\n")
        git(root, "add", ".")
        before = int(file.stat().st_ctime)
        file.write_text("found here\n")
        if int(file.stat().st_ctime) == before:
            break
    while int(time.time()) == before:  # the copy of the index has another time
        time.sleep(0.01)

    turn = Turn(root)
    file.write_text("changed\n")

    assert "-found here\n+changed\n" in turn.diff()
