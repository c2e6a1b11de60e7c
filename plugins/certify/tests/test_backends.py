"""The kit against our own backends, and against a stranger's that leaks on purpose."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_testkit.confinement import NOBODY

ACME = Path(__file__).parents[3] / "tests" / "e2e" / "packages" / "acme-box"
NEEDED = {"bubblewrap": "ferrule_sandbox_bubblewrap", "landlock": "ferrule_sandbox_landlock"}
FAST = (
    *("files.create", "files.through_new_link", "files.race_write", "files.workspace_edit"),
    *("protected.hook", "missing.folder", "secrets.home_key", "secrets.environment"),
    *("processes.signal", "inherited.descriptors", "network.tcp", "unix.stream"),
    *("kernel.io_uring", "settings.core_pattern", "work.git_commit", "work.event_loop"),
    *("fidelity.exit_codes", "fidelity.argument_bytes", "work.temporary_file"),
)
WATCHED = (
    *("files.create", "protected.hook", "protected.config", "protected.settings"),
    *("inherited.descriptors", "inherited.folder", "network.tcp", "network.udp"),
    *("processes.see", "work.write", "fidelity.exit_codes"),
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def probes(ids):
    return [word for each in ids for word in ("--probe", each)]


@pytest.fixture(params=list(NEEDED))
def backend(request, sandbox):
    pytest.importorskip(NEEDED[request.param])
    told = sandbox("certify", request.param, "--probe", "work.threads", "--mode", "read-only")
    if "is not usable" in told.errors:
        pytest.skip(told.errors.strip())
    return request.param


def test_our_backends_hold_and_work(backend, sandbox):
    run = sandbox("certify", backend, "--json", *probes(FAST))
    spoilt = {name for name, verdict in run.verdicts().items() if verdict in ("escaped", "broken")}
    assert (spoilt, run.code) == (set(), 0), run.output
    assert run.certificate["backend"]["distribution"] == f"ferrule-sandbox-{backend}"


def test_a_policy_that_a_backend_refuses_is_unsupported(sandbox):
    run = sandbox("certify", "none", "--json", "--probe", "files.create", "--probe", "network.tcp")
    assert set(run.verdicts().values()) == {"unsupported"}


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("user", ["root", "user"])
def test_nothing_escapes_from_our_backends(backend, user, sandbox, stage, home):
    if user == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    words = ["-m", "ferrule", "sandbox", "certify", backend, "--stage", str(stage)]
    words += ["--mode", "workspace-write"]
    options = {}
    if user == "user" and os.geteuid() == 0:
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        os.chown(stage, NOBODY, NOBODY)
        os.chown(home, NOBODY, NOBODY)
        try:
            subprocess.run([sys.executable, "-c", "import ferrule"], check=True, **options)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("an ordinary user cannot run this interpreter")
    ended = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "FERRULE_HOME": str(stage / "home"), "HOME": str(stage)},
        cwd=stage,
        capture_output=True,
        text=True,
        **options,
    )
    assert ended.returncode == 0, ended.stdout[-6000:] + ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("leaks", "escaped"),
    [
        ([], set()),
        (["hooks"], {"protected.hook"}),
        (["descriptor"], {"inherited.descriptors", "inherited.folder"}),
        (["network"], {"network.tcp", "network.udp"}),
    ],
    ids=["sound", "hooks", "descriptor", "network"],
)
def test_a_stranger_s_backend_fails_on_what_it_leaks_and_on_nothing_else(sandbox, leaks, escaped):
    if not ACME.is_dir():
        pytest.skip("not in the workspace")
    run = sandbox(
        *("certify", "acme_box", "--json", "--mode", "workspace-write", *probes(WATCHED)),
        before=("--dev-plugin", str(ACME)),
        config=f"[sandboxes.acme_box]\nleaks = {leaks}\n",
    )
    if "bwrap is missing" in run.errors:
        pytest.skip("needs bwrap")
    found = run.verdicts()
    assert {name for name, verdict in found.items() if verdict == "escaped"} == escaped
    assert {found[name] for name in set(found) - escaped} == {"held", "works"}
    assert run.code == bool(escaped)
    assert run.certificate["backend"]["version"] == "1.2.0"


def test_a_foreign_sandbox_is_examined_by_its_command_line(sandbox):
    run = sandbox(
        *("certify", "--command", "env CERTIFIED={workspace}", "--declare", "filesystem"),
        *("--version", "9", "--json", "--probe", "files.create", "--probe", "work.write"),
    )
    assert run.verdicts() == {"files.create": "escaped", "work.write": "works"}
    assert (run.code, run.certificate["backend"]["version"]) == (1, "9")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name one backend"),
        (("nonsense",), "no plugin 'nonsense' is installed"),
        (("--command", "absent-program"), "names no program"),
        (("none", "--probe", "x"), "no probe is called 'x'"),
        (("--command", "env", "--declare", "x"), "'x' is no feature"),
    ],
    ids=["nothing", "backend", "command", "probe", "feature"],
)
def test_what_cannot_be_examined_is_told(sandbox, words, told):
    run = sandbox("certify", *words)
    assert (run.code, told in run.errors) == (1, True), run.errors
