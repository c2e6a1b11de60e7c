"""File access through a view of the workspace: paths and links are those of the view."""

import anyio
import pytest

from ferrule.files import LocalFiles
from ferrule_hookspecs.sandbox import RemoveFile, ResolvedPolicy, WritableRoot, WriteFile
from ferrule_hookspecs.tools import SandboxDeniedError


@pytest.fixture
def view(tmp_path):
    """A folder that stands for `/`, with a workspace in it that this machine does not have."""
    (tmp_path / "workspace" / "safe").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


@pytest.fixture
def files(view):
    root = WritableRoot("/workspace", ("/workspace/safe",))
    policy = ResolvedPolicy("workspace-write", "/workspace", (root,), ("/elsewhere/secret",))
    return LocalFiles(policy, str(view))


def test_files_are_written_read_listed_and_removed_in_the_view(files, view):
    anyio.run(files.apply, [WriteFile("/workspace/new/file", b"text")])

    assert (view / "workspace/new/file").read_bytes() == b"text"
    assert anyio.run(files.read, "/workspace/new/file") == b"text"
    assert [entry.name for entry in anyio.run(files.list, "/workspace/new")] == ["file"]
    assert anyio.run(files.stat, "/workspace/new/file").size == 4
    assert anyio.run(files.stat, "/workspace/none") is None
    anyio.run(files.apply, [RemoveFile("/workspace/new/file")])
    assert not list((view / "workspace/new").iterdir())


def test_links_lead_where_they_lead_in_the_view(files, view):
    (view / "workspace/target").write_text("inside")
    (view / "workspace/absolute").symlink_to("/workspace/target")
    (view / "workspace/relative").symlink_to("safe/../target")

    assert anyio.run(files.read, "/workspace/absolute") == b"inside"
    assert anyio.run(files.read, "/workspace/relative") == b"inside"
    anyio.run(files.apply, [WriteFile("/workspace/absolute", b"through")])
    assert (view / "workspace/target").read_bytes() == b"through"


@pytest.mark.parametrize("target", ["/elsewhere/file", "../elsewhere/file", "safe/file"])
def test_links_out_of_what_may_be_written_are_refused(files, view, target):
    (view / "workspace/link").symlink_to(target)

    assert files.check("write", "/workspace/link") is not None
    with pytest.raises(SandboxDeniedError):
        anyio.run(files.apply, [WriteFile("/workspace/link", b"x")])


def test_links_to_what_may_not_be_read_are_refused(files, view):
    (view / "elsewhere/secret").write_text("key")
    (view / "workspace/link").symlink_to("/elsewhere/secret")

    with pytest.raises(SandboxDeniedError):
        anyio.run(files.read, "/workspace/link")


def test_links_that_lead_round_in_a_circle_are_an_error(files, view):
    (view / "workspace/one").symlink_to("two")
    (view / "workspace/two").symlink_to("one")

    with pytest.raises(OSError, match=r"[Tt]oo many"):
        anyio.run(files.read, "/workspace/one")


def test_nothing_leads_above_the_root_of_the_view(files, view):
    (view / "elsewhere/file").write_text("in the view")

    assert anyio.run(files.read, "/workspace/../../../elsewhere/file") == b"in the view"
