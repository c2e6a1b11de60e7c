"""File tools in a container: they see what commands see, and write where commands may."""

import anyio
import pytest

from ferrule_hookspecs.sandbox import RemoveFile, WriteFile
from ferrule_hookspecs.tools import SandboxDeniedError


def do(function, *arguments, **options):
    async def work():
        return await function(*arguments, **options)

    return anyio.run(work)


def files_of(session):
    policy = session.policy()
    scratch = policy.writable_roots[0]._replace(path="/tmp", read_only=(), forbidden=())
    return session.backend.files(policy._replace(writable_roots=(scratch, *policy.writable_roots)))


def test_what_a_command_wrote_can_be_read_and_the_other_way_round(inside, place):
    def work(session):
        files = files_of(session)
        here = str(session.workspace / "made")
        do(files.apply, [WriteFile(here, b"one"), WriteFile("/tmp/new/inside", b"two", 0o600)])
        policy = session.policy()
        scratch = policy.writable_roots[0]._replace(path="/tmp")
        policy = policy._replace(writable_roots=(scratch, *policy.writable_roots))
        said = session.sh(f"cat {here} /tmp/new/inside; echo three > /tmp/back", policy=policy)
        return said, do(files.read, "/tmp/back"), do(files.stat, "/bin/busybox").kind

    assert inside(work) == ("onetwo", b"three\n", "file")
    assert (place / "workspace" / "made").read_text() == "one"


def test_the_images_own_files_can_be_listed_but_not_written(inside):
    def work(session):
        files = files_of(session)
        assert "busybox" in [entry.name for entry in do(files.list, "/bin")]
        with pytest.raises(SandboxDeniedError, match="outside of the writable folders"):
            do(files.apply, [WriteFile("/etc/made", b"x")])

    inside(work)


def test_edits_inside_are_made_all_or_none(inside):
    def work(session):
        files = files_of(session)
        do(files.apply, [WriteFile("/tmp/kept", b"old")])
        with pytest.raises(FileNotFoundError):
            do(files.apply, [WriteFile("/tmp/kept", b"new"), RemoveFile("/tmp/missing")])
        return do(files.read, "/tmp/kept"), [entry.name for entry in do(files.list, "/tmp")]

    found, names = inside(work)

    assert found == b"old"
    assert "kept" in names
    assert not [name for name in names if name.startswith(".ferrule-edit")]


def test_readable_folders_hide_this_machines_files_but_not_the_images(inside, place):
    (place / "workspace" / "note").write_text("mine")

    def work(session):
        policy = session.policy("read-only", readable_roots=(str(place / "outside"),))
        files = session.backend.files(policy)
        with pytest.raises(FileNotFoundError):
            do(files.read, str(place / "workspace" / "note"))
        return do(files.read, "/bin/busybox", limit=4)

    assert inside(work) == b"\x7fELF"
