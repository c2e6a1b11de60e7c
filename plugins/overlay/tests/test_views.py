"""What a session sees: its own changes at the same paths, through commands and through files."""

import os
import select
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError, SessionRefusedError
from ferrule_hookspecs.sandbox import Launch, ResolvedPolicy, WritableRoot
from ferrule_overlay.opening import open_view

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="overlays are mounted on Linux")


def test_files_are_reached_through_the_root_of_the_view(case):
    case.write("file", "base\n")
    view = open_view(case.context(), case.policy)
    case.run(view, ("sh", "-c", "echo thread > file; mkdir new; echo x > new/x"))

    assert Path(f"{view.root}{case.path}/file").read_text() == "thread\n"
    assert os.listdir(f"{view.root}{case.path}/new") == ["x"]
    assert (case.workspace / "file").read_text() == "base\n"
    anyio.run(view.aclose)


def test_commands_are_started_in_folders_that_only_the_view_has(case):
    view = open_view(case.context(), case.policy)
    case.run(
        view, ("sh", "-c", "mkdir new; printf '#!/bin/sh\\necho ran\\n' > new/x; chmod +x new/x")
    )

    assert case.run(view, ("pwd",), f"{case.path}/new") == f"{case.path}/new\n"
    assert case.run(view, ("./x",), f"{case.path}/new") == "ran\n"
    anyio.run(view.aclose)


def test_a_resumed_thread_sees_its_pending_changes_even_without_being_asked_for_an_overlay(case):
    case.shell("echo thread > file")

    assert case.in_view(("cat", "file"), overlay=False) == ["thread\n"]
    assert any("1 pending change" in warning for warning in case.warnings)


def test_a_thread_without_pending_changes_works_in_the_workspace_again(case):
    case.shell("true")

    assert open_view(case.context(overlay=False), case.policy) is None


def test_a_session_that_is_killed_leaves_its_changes_and_no_process(case):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import conftest, pathlib, os, signal\n"
        "case = object.__new__(conftest.Case); case.path = sys.argv[2]\n"
        "case.home, case.warnings = pathlib.Path(sys.argv[3]), []\n"
        "case.policy = conftest.ResolvedPolicy('workspace-write', case.path,"
        " writable_roots=(conftest.WritableRoot(case.path),))\n"
        "view = conftest.open_view(case.context(), case.policy)\n"
        "case.run(view, ('sh', '-c', 'echo thread > file'))\n"
        "print(view._mounts._holder.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    here = str(Path(__file__).parent)
    argv = [sys.executable, "-c", script, here, case.path, str(case.home)]
    killed = subprocess.run(argv, capture_output=True, text=True, check=False)

    holder = int(killed.stdout)
    if os.path.exists(f"/proc/{holder}"):
        descriptor = os.pidfd_open(holder)
        assert select.select([descriptor], [], [], 120)[0]
        os.close(descriptor)
    assert list(case.pending()) == ["file"]
    assert case.shell("cat file") == ["thread\n"]


def test_a_command_is_refused_when_the_view_is_gone(case):
    view = open_view(case.context(), case.policy)
    view._mounts._holder.kill()
    view._mounts._holder.wait()

    with pytest.raises(SandboxUnavailableError, match="resume the thread"):
        view.launch(Launch(("/bin/true",), {}, "/"))
    anyio.run(view.aclose)


def test_a_workspace_that_holds_the_home_of_ferrule_is_refused(case):
    case.home = case.workspace / "home"
    case.home.mkdir()

    with pytest.raises(SessionRefusedError, match="FERRULE_HOME"):
        open_view(case.context(), case.policy)


def test_a_thread_with_pending_changes_does_not_move_to_another_folder(case, tmp_path):
    case.shell("echo thread > file")
    other = tmp_path / "other"
    other.mkdir()
    policy = ResolvedPolicy(
        "workspace-write", str(other), writable_roots=(WritableRoot(str(other)),)
    )

    with pytest.raises(SessionRefusedError, match="pending changes in"):
        open_view(case.context(), policy)


def test_several_folders_are_covered(case, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("base\n")
    roots = tuple(WritableRoot(path) for path in (case.path, str(other)))
    case.policy = case.policy._replace(writable_roots=roots)

    case.shell(f"echo thread > {other}/file; echo thread > mine")

    assert (other / "file").read_text() == "base\n"
    result = case.apply()
    assert result.done == {str(other / "file"), "mine"}
    assert (other / "file").read_text() == "thread\n"


def test_names_that_options_of_a_mount_would_be_split_at_are_covered(make_case):
    case = make_case("a,b:c\\d e")
    case.shell("echo thread > file")

    assert not (case.workspace / "file").exists()
    assert case.apply().done == {"file"}


def test_a_copy_serves_where_no_overlay_can_be_mounted(case, snapshot, no_overlay):
    case.write("kept", "base\n")
    case.write("gone", "base\n")
    case.write("untouched", "base\n")
    case.write("deep/er/file", "base\n", 0o600)
    (case.workspace / "link").symlink_to("kept")
    before = snapshot(case.path)

    case.shell("echo thread > kept; rm gone link; mkdir new; echo x > new/x; mv deep moved")
    case.write("untouched", "user\n")

    assert case.shelf.about.mechanism == "copy"
    assert "untouched" not in case.pending()
    assert case.shell("cat kept new/x; ls") == ["thread\nx\nkept\nmoved\nnew\nuntouched\n"]
    case.write("untouched", "base\n")
    case.discard(files=["gone"])
    assert case.shell("cat gone") == ["base\n"]
    assert not case.apply().left
    assert (case.workspace / "moved" / "er" / "file").read_text() == "base\n"
    assert not case.pending()
    case.rollback()
    assert snapshot(case.path) == before


def test_a_workspace_that_is_too_large_to_copy_is_refused_in_words(case, no_overlay, monkeypatch):
    monkeypatch.setattr("ferrule_overlay.copied.MOST_ENTRIES", 2)
    for name in "abc":
        case.write(name, "x")

    with pytest.raises(SessionRefusedError, match="too large to be copied"):
        case.shell("true")
