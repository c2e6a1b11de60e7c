"""The configuration of a container, and what MXC itself says of it."""

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot
from ferrule_sandbox_windows.mxc_configuration import (
    Surroundings,
    as_text,
    make_configuration,
)
from ferrule_sandbox_windows.mxc_program import MxcFacts, find_mxc, read_facts
from ferrule_testkit.surroundings import missing

GOLDEN = Path(__file__).with_name("golden")
WORK = "C:\\work\\project"
HOME = "C:\\Users\\me"
ROOT = WritableRoot(
    WORK,
    (f"{WORK}\\.git\\hooks", f"{WORK}\\.git\\config"),
    (f"{WORK}\\.vscode",),
    (f"{WORK}\\.git",),
)
COMMAND = Command(
    ("C:\\Program Files\\Git\\cmd\\git.exe", "commit", "-m", 'say "hi"'),
    WORK,
    {"SYSTEMROOT": "C:\\Windows", "FERRULE_SANDBOX": "windows"},
)
AROUND = Surroundings("run-golden", ("C:\\", "D:\\"))
SCRATCH = AROUND._replace(scratch=f"{HOME}\\.ferrule\\sandbox-windows\\run-golden\\temporary")
HIDING = AROUND._replace(hides_paths=True)
SECRETS = (f"{HOME}\\.ssh", f"{HOME}\\.aws")
CASES = {
    "read-only": (ResolvedPolicy("read-only", WORK), SCRATCH),
    "workspace-write": (ResolvedPolicy("workspace-write", WORK, (WritableRoot(WORK),)), AROUND),
    "protected": (ResolvedPolicy("workspace-write", WORK, (ROOT,)), AROUND),
    "network": (ResolvedPolicy("workspace-write", WORK, (ROOT,), network=True), AROUND),
    "deny-read": (ResolvedPolicy("workspace-write", WORK, (ROOT,), SECRETS), HIDING),
    "readable-roots": (
        ResolvedPolicy("read-only", WORK, readable_roots=(WORK, "C:\\tools")),
        SCRATCH,
    ),
}


def configuration(name):
    policy, around = CASES[name]
    return as_text(make_configuration(policy, COMMAND, around))


@pytest.mark.parametrize("name", CASES)
def test_configurations_are_what_they_were(name):
    expected = (GOLDEN / f"{name}.json").read_bytes()

    assert configuration(name) + b"\n" == expected


@pytest.fixture
def parser():
    """MXC's own reader of configurations, which is built for Linux, too."""
    modules = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"))
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "none")
    path = modules / "@microsoft" / "mxc-sdk" / "bin" / machine / "lxc-exec"
    if not path.is_file():
        missing(f"{path} is not there (set FERRULE_TEST_NODE_MODULES); no configuration was tried")
    return path


@pytest.fixture
def judge(parser, tmp_path):
    def judge(text):
        told = tmp_path / "container.json"
        told.write_bytes(text)
        return subprocess.run(
            (parser, "--dry-run", told), capture_output=True, text=True, check=False
        )

    return judge


@pytest.mark.parametrize("name", CASES)
def test_mxc_takes_our_configurations(judge, name):
    ended = judge(configuration(name))

    assert ended.returncode == 0, ended.stderr
    assert "validation passed" in ended.stdout + ended.stderr


def test_mxc_would_say_so_if_it_did_not(judge):
    told = json.loads(configuration("protected"))
    told["filesystem"]["readonlyPath"] = []
    ended = judge(json.dumps(told).encode())

    assert ended.returncode != 0
    assert "readonlyPath" in ended.stdout + ended.stderr


def test_everything_is_closed_that_is_not_opened():
    told = json.loads(configuration("read-only"))

    assert told["filesystem"]["readwritePaths"] == [SCRATCH.scratch]
    assert told["network"]["egress"] == {"default": "deny"}
    assert told["processContainer"]["capabilities"] == []
    assert told["fallback"] == {"allowDaclMutation": False}


def test_hidden_places_are_named_only_where_mxc_can_hide_them():
    policy, around = CASES["deny-read"]
    unable = make_configuration(policy, COMMAND, around._replace(hides_paths=False))

    assert json.loads(configuration("deny-read"))["filesystem"]["deniedPaths"] == [*SECRETS]
    assert unable["filesystem"]["deniedPaths"] == []


def test_a_path_that_is_not_text_is_refused():
    policy = ResolvedPolicy("workspace-write", WORK, (WritableRoot(f"{WORK}\\\udcff"),))
    with pytest.raises(PolicyUnenforceableError, match="not UTF-8"):
        as_text(make_configuration(policy, COMMAND, AROUND))


@pytest.mark.parametrize(
    ("printed", "facts"),
    [
        ({"tier": "base-container", "probes": {"baseContainerSupportsDenyPaths": True}}, True),
        ({"tier": "base-container", "probes": {"baseContainerSupportsDenyPaths": "yes"}}, False),
        ({"tier": "appcontainer-bfs", "warnings": ["w"]}, False),
    ],
)
def test_what_mxc_says_of_itself_is_read_strictly(printed, facts):
    found = read_facts(json.dumps(printed).encode())

    assert found == MxcFacts(printed["tier"], facts, tuple(printed.get("warnings", ())))


@pytest.mark.parametrize("printed", [b"", b"[]", b'{"tier": 1}', b"\xff"])
def test_anything_else_is_no_mxc(printed):
    with pytest.raises(SandboxUnavailableError, match="wxc-exec --probe"):
        read_facts(printed)


def test_the_configured_program_is_taken(program):
    assert find_mxc({"mxc": program}, {}, "/w") == program


@pytest.mark.parametrize("path", ["wxc-exec.exe", "/not/there/wxc-exec.exe"])
def test_a_configured_program_that_is_not_there_is_an_error(path):
    with pytest.raises(SandboxUnavailableError, match="mend `mxc`"):
        find_mxc({"mxc": path}, {}, "/w")


def test_else_it_is_looked_for_on_path_but_never_in_the_workspace(program):
    folder = os.path.dirname(program)

    assert find_mxc({}, {"PATH": f"relative{os.pathsep}{folder}"}, "/w") == program
    assert find_mxc({}, {"PATH": folder}, folder) is None
    assert find_mxc({}, {"PATH": ""}, "/w") is None
    assert find_mxc({}, {"MXC_BIN_DIR": folder}, "/w") == program
