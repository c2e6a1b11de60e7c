"""How commands are launched, and when they are not."""

import os
import sys
from pathlib import Path

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, CommandResult, ResolvedPolicy, WritableRoot
from ferrule_sandbox_seatbelt.probe import program_fault
from ferrule_testkit.seatbelt_profile import parameters_of

READ_ONLY = ResolvedPolicy("read-only", "/")


def writing(place, *temporary):
    roots = (place / "workspace", *temporary)
    return ResolvedPolicy(
        "workspace-write", str(place), tuple(WritableRoot(str(root)) for root in roots)
    )


def test_the_command_runs_through_the_systems_own_program(launched):
    launch = launched(READ_ONLY, "echo", "--help", "-p", "")

    assert launch.argv[0] == "/usr/bin/sandbox-exec"
    assert launch.argv[launch.argv.index("--") :] == ("--", "echo", "--help", "-p", "")


def test_paths_are_handed_over_as_parameters(launched, place):
    launch = launched(writing(place))

    assert parameters_of(launch.argv)["WRITABLE_0"] == str(place / "workspace")
    assert f'"{place}' not in launch.argv[launch.argv.index("-p") + 1]


def test_a_command_can_tell_where_it_runs_and_loads_nothing_on_its_way(launched):
    env = {"PATH": "/usr/bin:/bin", "DYLD_INSERT_LIBRARIES": "/x.dylib", "DYLD_X": "1", "A": "b"}
    launch = launched(READ_ONLY, env=env)

    assert launch.env["FERRULE_SANDBOX"] == "seatbelt"
    assert launch.env["A"] == "b"
    assert not [name for name in launch.env if name.startswith("DYLD_")]


def test_read_only_has_room_for_scratch_that_goes_away(launched):
    launch = launched(READ_ONLY)
    folder = launch.env["TMPDIR"]

    assert os.path.isdir(folder)
    assert folder == os.path.realpath(folder)
    assert folder in parameters_of(launch.argv).values()
    Path(folder, "left").write_text("behind")
    launch.cleanup()
    assert not os.path.lexists(folder)


def test_a_temporary_folder_that_may_be_written_stays(launched, place):
    outside = place / "outside"
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(outside)}
    launch = launched(writing(place, outside), env=env)

    assert launch.env["TMPDIR"] == str(outside)


@pytest.mark.parametrize(("argv", "code"), [(("no-such-program",), "127"), (("/etc",), "126")])
def test_what_cannot_run_ends_as_in_a_shell(launched, argv, code):
    assert launched(READ_ONLY, *argv).argv[-1] == code


def test_no_confinement_is_not_its_business(backend):
    unconfined = ResolvedPolicy("danger-full-access", "/", unconfined=True)
    with pytest.raises(PolicyUnenforceableError, match="'none'"):
        backend.launch(unconfined, Command(("true",), "/", {}))


def test_a_missing_working_directory_is_named(backend):
    with pytest.raises(SandboxUnavailableError, match="/not/there"):
        backend.launch(READ_ONLY, Command(("true",), "/not/there", {}))


def test_more_places_than_a_profile_can_hold_are_refused_rather_than_dropped(launched, place):
    kept = tuple(f"{place}/workspace/{number:04}/.git/hooks" for number in range(5000))
    policy = ResolvedPolicy(
        "workspace-write", str(place), (WritableRoot(str(place / "workspace"), kept),)
    )
    with pytest.raises(PolicyUnenforceableError, match="smaller folder"):
        launched(policy)


def test_a_few_hundred_protected_places_are_no_difficulty(launched, place):
    kept = tuple(f"{place}/workspace/{number:04}/.git/hooks" for number in range(500))
    policy = ResolvedPolicy(
        "workspace-write", str(place), (WritableRoot(str(place / "workspace"), kept),)
    )
    assert launched(policy).argv[-1] == "true"


def test_a_refusal_is_told_from_a_failure_of_the_command(backend, place):
    line = f"touch: {place}/outside/x: Operation not permitted".encode()
    denial = backend.classify(writing(place), CommandResult(1, line))

    assert denial is not None
    assert denial.path == f"{place}/outside/x"


@pytest.mark.skipif(sys.platform == "darwin", reason="it works there")
def test_elsewhere_it_says_why_it_does_not_work_and_runs_nothing(backend):
    found = backend.probe()

    assert not found.available
    assert found.enforced == frozenset()
    assert "macOS only" in found.reason
    assert "not yet proved on a real machine" in found.reason
    with pytest.raises(SandboxUnavailableError, match="macOS only"):
        backend.prepare(READ_ONLY, Command(("true",), "/", {}))


@pytest.mark.skipif(sys.platform != "darwin", reason="needs macOS")
def test_it_works_on_macos(backend):
    assert backend.probe().available, backend.probe().reason


def test_a_program_of_the_system_is_trusted():
    assert program_fault(os.path.realpath("/bin/sh")) is None


@pytest.mark.parametrize("kind", ["missing", "writable", "link", "folder"])
def test_any_other_program_is_not(tmp_path, kind):
    path = tmp_path / "sandbox-exec"
    if kind == "writable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o777)
    elif kind == "link":
        path.symlink_to("/bin/sh")
    elif kind == "folder":
        path.mkdir()

    assert str(path) in program_fault(str(path))
