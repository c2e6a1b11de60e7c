"""What is really started, and what it is given."""

import json
import os
from pathlib import Path

import pytest

from ferrule_hookspecs.sandbox import ResolvedPolicy
from ferrule_sandbox_windows import constants
from ferrule_sandbox_windows.job import limits
from ferrule_sandbox_windows.launching import launch_of
from ferrule_testkit.confinement import make_policy

READ_ONLY = ResolvedPolicy("read-only", "/")
ENVIRON = {"SystemRoot": "/system", "LOCALAPPDATA": "/local", "API_KEY": "x", "PYTHONPATH": "/w"}
KILL_ON_CLOSE = constants.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE


def test_a_container_is_started_by_mxc_with_a_configuration_that_goes_away(
    mxc_way, command, program
):
    launch = mxc_way.launch(READ_ONLY, command, ENVIRON)
    told = launch.argv[1]

    assert launch.argv[0] == program
    assert json.loads(Path(told).read_bytes())["version"] == "0.8.0-alpha"
    assert launch.env == {"SystemRoot": "/system", "LOCALAPPDATA": "/local"}
    launch.cleanup()
    assert not os.path.exists(os.path.dirname(told))


def test_a_command_in_a_container_can_tell_and_has_room_for_temporary_files(configuration_of):
    told = configuration_of(READ_ONLY, env={"PATH": "/bin", "Temp": "/not/writable"})
    env = dict(entry.split("=", 1) for entry in told["process"]["env"])

    assert env["FERRULE_SANDBOX"] == "windows"
    assert env["TEMP"] == env["TMP"] == told["filesystem"]["readwritePaths"][0]
    assert "Temp" not in env
    assert os.path.isdir(env["TEMP"])


def test_names_are_held_while_a_container_runs(configuration_of, launches, machine, place):
    (place / "workspace" / ".git").mkdir()
    policy = make_policy(place / "workspace", pinned=(".git",), forbidden=(".vscode",))
    configuration_of(policy)

    assert machine.keeps(str(place / "workspace" / ".git"))
    assert machine.keeps(str(place / "workspace" / ".vscode"))
    launches.pop().cleanup()
    assert not machine.keeps(str(place / "workspace"))


def test_only_named_folders_are_readable_where_a_policy_names_them(configuration_of):
    every = configuration_of(READ_ONLY)["filesystem"]["readonlyPaths"]
    named = configuration_of(READ_ONLY._replace(readable_roots=("/tools",)))["filesystem"]

    assert every == ["/"]
    assert named["readonlyPaths"] == ["/tools"]


def test_the_interpreter_of_the_launcher_takes_nothing_from_outside():
    launch = launch_of("order.json", environ=ENVIRON)

    assert launch.argv[1:3] == ("-I", "-m")
    assert launch.env == {"SystemRoot": "/system"}


@pytest.mark.parametrize(
    ("bounds", "flags"),
    [
        ((None, None), 0),
        ((7, None), constants.JOB_OBJECT_LIMIT_ACTIVE_PROCESS),
        ((None, 1 << 33), constants.JOB_OBJECT_LIMIT_JOB_MEMORY),
    ],
)
def test_a_job_ends_its_processes_whatever_its_bounds_are(bounds, flags):
    made = limits(*bounds)
    basic = made.BasicLimitInformation
    own = KILL_ON_CLOSE | constants.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION

    assert basic.LimitFlags == own | flags
    assert (basic.ActiveProcessLimit, made.JobMemoryLimit) == tuple(b or 0 for b in bounds)
