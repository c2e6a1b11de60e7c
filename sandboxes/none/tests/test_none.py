"""Running without a sandbox: only where that was asked for, and never silently."""

import subprocess
from pathlib import Path

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError, SandboxUnavailableError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy
from ferrule_sandbox_none.backend import NoneBackend

UNCONFINED = ResolvedPolicy("danger-full-access", "/", network=True, unconfined=True)


@pytest.fixture
def backend():
    return NoneBackend(PluginContext(Path("/nonexistent"), {}))


@pytest.fixture
def run(backend, tmp_path):
    def run(*argv, env=None):
        env = env or {"PATH": "/usr/bin:/bin"}
        launch = backend.prepare(UNCONFINED, Command(argv, str(tmp_path), env))
        return subprocess.run(launch.argv, env=launch.env, cwd=launch.cwd, capture_output=True)

    return run


def test_it_says_that_nothing_is_confined(backend):
    found = backend.probe()
    assert found.available
    assert found.enforced == frozenset()
    assert "NO SANDBOX" in found.reason


@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_it_refuses_to_pretend(backend, mode):
    with pytest.raises(PolicyUnenforceableError, match=f"cannot enforce {mode}"):
        backend.prepare(ResolvedPolicy(mode, "/"), Command(("true",), "/", {}))


def test_a_command_runs_as_it_is(run, tmp_path):
    ended = run("sh", "-c", "pwd; echo $A; exit 3", env={"PATH": "/bin", "A": "b"})
    assert ended.returncode == 3
    assert ended.stdout.decode().split() == [str(tmp_path), "b"]


@pytest.mark.parametrize(
    ("name", "code"), [("no-such-program", 127), ("./plain", 126), ("a=b", 127)]
)
def test_programs_that_cannot_run_fail_as_in_a_shell(run, tmp_path, name, code):
    (tmp_path / "plain").write_text("x")
    ended = run(name)
    assert ended.returncode == code
    assert name.encode() in ended.stderr


def test_a_missing_working_directory_is_named(backend, tmp_path):
    with pytest.raises(SandboxUnavailableError, match="gone does not exist"):
        backend.prepare(UNCONFINED, Command(("true",), str(tmp_path / "gone"), {}))
