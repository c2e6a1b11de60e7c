"""Whether the sandbox or the command itself is to blame for a failure."""

import pytest

from ferrule_confinement.denials import classify
from ferrule_hookspecs.sandbox import CommandResult, ResolvedPolicy, WritableRoot


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "outside").mkdir()
    workspace = str(tmp_path / "workspace")
    root = WritableRoot(workspace, (f"{workspace}/.git/hooks",))
    return ResolvedPolicy(
        "workspace-write", workspace, (root,), deny_read=(str(tmp_path / "keys"),)
    )


def judge(policy, output, code=1):
    found = classify(policy, CommandResult(code, output.encode()))
    return found.kind if found else None


@pytest.mark.parametrize(
    "output",
    [
        "touch: cannot touch '{base}/outside/x': Read-only file system",
        "sh: 1: cannot create {base}/outside/x: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '{base}/outside/x'",
        "mv: cannot move 'a' to '{base}/outside/x': Read-only file system",
        "error: Read-only file system",
    ],
)
def test_writes_outside_are_the_sandboxs_doing(policy, tmp_path, output):
    assert judge(policy, output.format(base=tmp_path)) == "write"


def test_what_is_concluded_from_words_says_so(policy, tmp_path):
    line = f"touch: cannot touch '{tmp_path}/outside/x': Read-only file system"
    assert classify(policy, CommandResult(1, line.encode())).is_inferred
    assert not classify(policy, CommandResult(159, b"")).is_inferred


def test_denied_reads_are_the_sandboxs_doing(policy, tmp_path):
    (tmp_path / "keys").mkdir()
    assert judge(policy, f"cat: {tmp_path}/keys/key: Permission denied") == "read"


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.com",
        "npm error code EAI_AGAIN\nnpm error request failed, reason: getaddrinfo EAI_AGAIN x",
        "ssh: Could not resolve hostname x: Temporary failure in name resolution",
        "socket.gaierror: [Errno -2] Name or service not known",
        "connect: Network is unreachable",
    ],
)
def test_a_missing_network_is_the_sandboxs_doing(policy, output):
    assert judge(policy, output) == "network"


def test_a_refused_system_call_is_the_sandboxs_doing(policy):
    assert judge(policy, "", 159) == "syscall"


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("Read-only file system", 0),
        ("bash: ./a.txt: Permission denied", 126),
        ("git@github.com: Permission denied (publickey).", 255),
        ("FAILED test_sandbox.py::test_seccomp", 1),
        ("error: seccomp landlock sandbox", 1),
        ("ls: cannot access 'x': No such file or directory", 2),
        ("", 1),
    ],
)
def test_other_failures_are_the_commands_own(policy, output, code):
    assert judge(policy, output, code) is None


def test_with_the_network_on_resolving_is_the_commands_own_problem(tmp_path):
    policy = ResolvedPolicy("workspace-write", str(tmp_path), network=True)
    assert judge(policy, "Could not resolve host: x") is None


def test_nothing_is_blamed_on_a_sandbox_that_is_not_there(tmp_path):
    policy = ResolvedPolicy("danger-full-access", "/", network=True, unconfined=True)
    assert judge(policy, "Read-only file system") is None
