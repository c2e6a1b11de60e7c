"""What is never taken over, or only when it is named."""

import os
import sys

import pytest

from ferrule_hookspecs.sandbox import WritableRoot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")


def test_what_the_policy_protects_is_left(case):
    case.write("safe/file", "base\n")
    case.shell("echo thread > safe/file; echo x > safe/new; mkdir secret; echo x > free")
    protected = WritableRoot(case.path, (f"{case.path}/safe",), (f"{case.path}/secret",))

    result = case.apply(case.policy._replace(writable_roots=(protected,)))

    assert result.done == {"free"}
    assert set(result.left) == {"safe/file", "safe/new", "secret"}
    assert (case.workspace / "safe" / "file").read_text() == "base\n"


def test_what_would_make_git_run_programs_in_a_new_repository_is_taken_when_it_is_named(case):
    case.shell("git init -q sub; echo bad > sub/.git/hooks/pre-commit; echo x > sub/file")

    result = case.apply()

    assert set(result.left) == {"sub/.git/hooks/pre-commit", "sub/.git/config"}
    assert "sub/file" in result.done
    assert not (case.workspace / "sub/.git/hooks/pre-commit").exists()
    assert not case.apply(files=["sub"]).done
    assert case.apply(files=["sub/.git/config"]).done == {"sub/.git/config"}


def test_a_pointer_to_another_git_folder_is_taken_when_it_is_named(case):
    case.shell("mkdir sub; echo 'gitdir: ../evil' > sub/.git; ln -s evil .git")

    assert set(case.apply().left) == {"sub/.git", ".git"}
    assert case.apply(files=["sub/.git"]).done == {"sub/.git"}


def test_special_files_are_left(case):
    case.shell("mkfifo pipe; echo x > file")

    result = case.apply()

    assert result.done == {"file"}
    assert "neither a file" in result.left["pipe"]


def test_a_folder_that_became_a_link_meanwhile_is_not_followed(case, tmp_path):
    case.write("folder/file", "base\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("base\n")
    case.shell("echo thread > folder/file; echo thread > folder/new")
    os.rename(case.workspace / "folder", tmp_path / "away")
    (case.workspace / "folder").symlink_to(outside)

    result = case.apply(theirs=["folder/file"])

    assert set(result.left) == {"folder/file", "folder/new"}
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_text() == "base\n"


def test_nothing_is_kept_of_a_session_that_changed_nothing(case):
    case.write("file", "base\n")
    case.shell("cat file")

    assert not os.path.exists(case.shelf.path)
