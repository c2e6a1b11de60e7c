"""Which way is taken, when commands are launched, and when they are not."""

import os
import sys

import pytest

from ferrule_hookspecs.errors import SandboxUnavailableError
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
