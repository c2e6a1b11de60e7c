"""Which way is taken, when commands are launched, and when they are not."""

import json
import os
import sys

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, CommandResult, ResolvedPolicy, WritableRoot
from ferrule_sandbox_windows.backend import WindowsBackend

READ_ONLY = ResolvedPolicy("read-only", "/")
WORK = "C:\\work"
WRITING = ResolvedPolicy("workspace-write", WORK, (WritableRoot(WORK, (f"{WORK}\\.git\\hooks",)),))


@pytest.mark.skipif(sys.platform == "win32", reason="it may work there")
def test_elsewhere_it_says_why_it_does_not_work_and_runs_nothing(context):
    backend = WindowsBackend(context)
    found = backend.probe()

    assert not found.available
    assert found.enforced == frozenset()
    assert "Windows only" in found.reason
    assert "not yet proved on a real machine" in found.reason
    with pytest.raises(SandboxUnavailableError, match="Windows only"):
        backend.prepare(READ_ONLY, Command(("true",), "/", {}))


@pytest.mark.skipif(sys.platform != "win32", reason="needs Windows")
def test_it_works_on_windows(context):
    assert WindowsBackend(context).probe().available


@pytest.mark.skipif(sys.platform == "win32", reason="the launcher works there")
def test_where_no_command_runs_in_a_trial_there_is_no_sandbox(context, machine, program):
    """Here neither the program nor the launcher can start anything: both ways must say so."""
    backend = WindowsBackend(context._replace(config=_with(program)), machine)
    found = backend.probe()

    assert not found.available
    assert "MXC" in found.reason or "wxc-exec" in found.reason
    assert "a restricted token does not work here" in found.reason
    assert machine.entries == {}
    assert os.listdir(context.home / "sandbox-windows") == []


def _with(program):
    return {"sandboxes": {"windows": {"mxc": program}}}


CONTAINER = """\
#!{python} -I
import json, os, sys
if sys.argv[1] == "--probe":
    print(json.dumps({{"tier": "base-container", "warnings": ["a preview"],
                      "probes": {{"baseContainerSupportsDenyPaths": {hides}}}}}))
    raise SystemExit
told = json.load(open(sys.argv[1]))
os.chdir(told["process"]["cwd"])
open("allowed", "w").write("x")
open("read", "w").write(open("../readable/file").read())
open("curled", "w").write("curl 8")
{leak}
"""
ALL = {"filesystem", "protected_paths", "missing_names", "network", "readable_roots", "deny_read"}
on_this_system = pytest.mark.skipif(sys.platform == "win32", reason="runs a script")


@pytest.fixture
def with_mxc(context, machine, tmp_path):
    """The backend on a machine where MXC lets commands do something that it must not."""

    def with_mxc(leak="", *, hides=True):
        program = tmp_path / "wxc-exec.exe"
        program.write_text(CONTAINER.format(python=sys.executable, leak=leak, hides=hides))
        program.chmod(0o755)
        return WindowsBackend(context._replace(config=_with(str(program))), machine)

    return with_mxc


@on_this_system
def test_what_a_trial_shows_to_hold_is_declared(with_mxc):
    found = with_mxc().probe()

    assert found.available
    assert found.enforced == ALL
    assert "base-container (it warns: a preview)" in found.reason
    assert "not yet proved on a real machine" in found.reason


@on_this_system
def test_an_mxc_that_cannot_hide_paths_does_not_claim_it(with_mxc):
    assert with_mxc(hides=False).probe().enforced == ALL - {"deny_read"}


@on_this_system
@pytest.mark.parametrize(
    ("leak", "lost"),
    [
        ("open('kept/new', 'w').close()", {"protected_paths"}),
        ("open('missing/new', 'w').close()", {"missing_names"}),
        (
            "open('copied', 'w').write(open('../hidden/file').read())",
            {"deny_read", "readable_roots"},
        ),
        ("os.unlink('curled')", {"network"}),
    ],
)
def test_a_claim_that_does_not_hold_is_not_declared(with_mxc, leak, lost):
    assert with_mxc(leak).probe().enforced == ALL - lost


@on_this_system
def test_a_way_that_leaks_outside_is_not_taken(with_mxc):
    found = with_mxc("open('../outside/new', 'w').close()").probe()

    assert not found.available
    assert "MXC does not work here: a trial could write where the policy forbids it" in found.reason


@on_this_system
def test_commands_are_launched_in_the_way_that_was_found(with_mxc, place, machine):
    backend = with_mxc()
    tool = place / "home" / "tool.EXE"
    tool.touch()
    command = Command((str(tool), "a b"), str(place / "workspace"), {"PATH": ""})
    launch = backend.prepare(READ_ONLY, command)
    missing = backend.prepare(READ_ONLY, command._replace(argv=("not-there",)))

    with open(launch.argv[1], encoding="utf-8") as file:
        assert json.load(file)["process"]["commandLine"] == f'"{tool}" "a b"'
    assert missing.argv[-2:] == ("--missing", "not-there")
    launch.cleanup()
    with pytest.raises(SandboxUnavailableError, match="does not exist"):
        backend.prepare(READ_ONLY, command._replace(cwd="/not/there"))
    with pytest.raises(PolicyUnenforceableError, match="'none'"):
        backend.prepare(READ_ONLY._replace(unconfined=True), command)


@on_this_system
def test_what_keeps_a_launch_from_being_prepared_is_a_fault_of_the_sandbox(
    with_mxc, context, place
):
    backend = with_mxc()
    assert backend.probe().available
    tool = place / "tool.EXE"
    tool.touch()
    folder = context.home / "sandbox-windows"
    folder.rmdir()
    folder.touch()

    with pytest.raises(SandboxUnavailableError, match="could not be prepared"):
        backend.prepare(READ_ONLY, Command((str(tool),), str(place), {}))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b"C:\\outside\\x: Access is denied.", "C:\\outside\\x"),
        (b"Error: EPERM: operation not permitted, open 'C:\\outside\\x'", "C:\\outside\\x"),
        (b"Access to the path 'C:\\work\\.git\\hooks\\x' is denied.", "C:\\work\\.git\\hooks\\x"),
        (b".git/hooks/x: Permission denied", "C:\\work\\.git\\hooks\\x"),
    ],
)
def test_a_refusal_is_told_from_a_failure_of_the_command(context, line, path):
    denial = WindowsBackend(context).classify(WRITING, CommandResult(1, line))

    assert denial is not None
    assert denial.path == path
    assert denial.is_inferred


@pytest.mark.parametrize(
    "line", [b"C:\\work\\x: Access is denied.", b"2 tests failed", b"Permission denied (publickey)"]
)
def test_what_the_policy_allows_is_no_refusal(context, line):
    assert WindowsBackend(context).classify(WRITING, CommandResult(1, line)) is None


def test_a_network_that_is_off_is_named(context):
    said = b"curl: (6) Could not resolve host: example.org"
    denial = WindowsBackend(context).classify(WRITING, CommandResult(6, said))

    assert denial is not None
    assert denial.kind == "network"
    assert (
        WindowsBackend(context).classify(WRITING._replace(network=True), CommandResult(6, said))
        is None
    )
