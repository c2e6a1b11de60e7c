"""What the user does meanwhile is reported, never lost and never overwritten unasked."""

import os
import sys

import pytest

from ferrule_hookspecs.errors import FerruleError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")


@pytest.fixture
def edited(case):
    """A file that both the thread and the user changed, beside one that only the thread did."""
    case.write("both", "base\n")
    case.write("one", "base\n")
    case.shell("echo thread > both; echo thread > one")
    case.write("both", "user\n")
    return case


def test_a_file_that_both_changed_is_a_conflict_and_the_others_are_applied(edited):
    result = edited.apply()

    assert result.done == {"one"}
    assert list(result.left) == ["both"]
    assert "you changed it since the session began" in result.left["both"]
    assert (edited.workspace / "both").read_text() == "user\n"
    assert (edited.workspace / "one").read_text() == "thread\n"
    assert list(edited.pending()) == ["both"]


def test_theirs_takes_the_version_of_the_thread_and_can_be_taken_back(edited):
    result = edited.apply(theirs=["both"])

    assert result.done == {"both", "one"}
    assert (edited.workspace / "both").read_text() == "thread\n"
    edited.rollback()
    assert (edited.workspace / "both").read_text() == "user\n"


def test_ours_keeps_the_version_of_the_user_and_shows_it_in_the_view(edited):
    result = edited.apply(ours=["both"])

    assert not result.left
    assert (edited.workspace / "both").read_text() == "user\n"
    assert not edited.pending()
    assert edited.shell("cat both") == ["user\n"]


@pytest.mark.parametrize(
    ("thread", "user", "why"),
    [
        ("rm both", "echo user > both", "you changed it"),
        ("echo thread > both", "rm both", "you removed it"),
        ("echo thread > new", "echo user > new", "you created it"),
        ("chmod 600 both", "chmod 755 both", "you changed it"),
        ("echo thread > both", "rm both; mkdir both", "you made it a directory"),
        ("ln -sf a link", "ln -sf b link", "you changed it"),
        ("rm -r folder", "echo user > folder/inner", "you changed it"),
    ],
    ids=["removed", "gone", "created", "mode", "kind", "link", "in a removed folder"],
)
def test_every_kind_of_conflict_is_told(case, snapshot, thread, user, why):
    case.write("both", "base\n")
    case.write("folder/inner", "base\n")
    (case.workspace / "link").symlink_to("base")
    case.shell(thread)
    assert os.system(f"cd {case.path} && {user}") == 0
    mine = snapshot(case.path)

    result = case.apply()

    assert any(why in reason for reason in result.left.values()), result
    assert snapshot(case.path) == mine


def test_the_same_change_made_by_both_is_no_change(case):
    case.write("file", "base\n")
    case.shell("echo same > file")
    case.write("file", "same\n")

    assert not case.pending()


def test_a_file_that_came_into_a_removed_folder_meanwhile_stays(case):
    case.write("folder/inner", "base\n")
    case.shell("rm -r folder")
    case.write("folder/mine", "user\n")

    result = case.apply()

    assert result.left == {"folder": "something else is in it"}
    assert (case.workspace / "folder" / "mine").read_text() == "user\n"
    assert not (case.workspace / "folder" / "inner").exists()


def test_an_edit_that_keeps_size_and_time_is_noticed(case):
    """Right after a file was written, its stamps may not tell one version from the next."""
    place = case.write("file", "aaaa\n")
    stamps = place.stat()
    case.shell("echo thread > file")
    place.write_text("bbbb\n")
    os.utime(place, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))

    assert "file" in case.apply().left
    assert place.read_text() == "bbbb\n"


def test_an_edit_before_the_thread_goes_on_is_still_a_conflict(edited):
    edited.shell("echo more >> both")

    assert "both" in edited.apply().left
    assert (edited.workspace / "both").read_text() == "user\n"


def test_what_was_touched_but_not_changed_is_no_conflict(case):
    place = case.write("file", "base\n")
    case.shell("echo thread > file")
    os.utime(place, ns=(1, 1))

    assert case.apply().done == {"file"}


def test_an_edit_after_applying_keeps_rolling_back_from_overwriting_it(case):
    case.write("file", "base\n")
    case.write("other", "base\n")
    case.shell("echo thread > file; echo thread > other")
    case.apply()
    case.write("file", "user\n")

    result = case.rollback()

    assert "you changed it since it was applied" in result.left["file"]
    assert (case.workspace / "file").read_text() == "user\n"
    assert (case.workspace / "other").read_text() == "base\n"


def test_rolling_back_removes_what_was_new_and_brings_back_untracked_files(case, snapshot):
    case.write("untracked/deep/file", "precious\n", 0o640)
    before = snapshot(case.path)
    case.shell("rm -r untracked; mkdir -p new/deep; echo x > new/deep/file")
    case.apply()

    case.rollback()

    assert snapshot(case.path) == before


def test_single_hunks_are_applied_and_the_rest_stays_pending(case):
    text = "".join(f"line {number}\n" for number in range(30))
    case.write("file", text)
    case.shell("sed -i 's/^line 2$/second/; s/^line 25$/late/' file")

    case.apply(files=["file"], hunks=[2])

    now = (case.workspace / "file").read_text()
    assert "late" in now
    assert "second" not in now
    assert list(case.pending()) == ["file"]
    case.apply()
    assert "second" in (case.workspace / "file").read_text()
    assert not case.pending()


def test_a_hunk_that_is_not_there_is_named(case):
    case.write("file", "base\n")
    case.shell("echo thread > file")

    with pytest.raises(FerruleError, match="no hunk 2"):
        case.apply(files=["file"], hunks=[2])


def test_a_path_without_a_change_is_named(case):
    case.shell("echo thread > file")

    with pytest.raises(FerruleError, match=r"nothing\.txt has no pending change"):
        case.apply(files=["nothing.txt"])


def test_an_open_session_keeps_others_from_its_changes(case):
    import anyio

    from ferrule_overlay.opening import open_view

    view = open_view(case.context(), case.policy)
    with pytest.raises(FerruleError, match="in use by an open session"):
        case.shelf.lock()
    anyio.run(view.aclose)
    os.close(case.shelf.lock())
