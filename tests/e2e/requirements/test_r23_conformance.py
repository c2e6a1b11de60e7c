"""R23: the suites of the testkit run against all of ours, and against plugins of strangers."""

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from ferrule_hookspecs.slots import SLOT_GROUPS, TOOL_GROUP

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "e2e" / "packages"
NO_SUITE = {"ferrule.servers": "a protocol has tests of its own", "ferrule.engines": "none exists"}
LEFT_OUT = {
    "container": "it works for ordinary users only, as whom a suite does not run",
    "local": "its model has to be downloaded",
    "stdio": "it serves the process that started it, and nobody else",
}
STRANGERS = """
from acme_reviewer.reviewer import AcmeReviewer
from acme_ticket.tool import TicketTool
from ferrule_testkit import ReviewerConformance, ToolConformance


class TestTicketTool(ToolConformance):
    arguments = {"title": "leak"}
    wrong = [{"title": 7}]

    def make(self, context):
        return TicketTool(context)


class TestAcmeReviewer(ReviewerConformance):
    def make(self, context):
        return AcmeReviewer(context)
"""
WITHOUT_KERNEL = """
import importlib.util
def test_there_is_no_kernel():
    assert importlib.util.find_spec("ferrule") is None
"""


def ours():
    points = {
        (point.group, point.name): point
        for group in (TOOL_GROUP, *SLOT_GROUPS)
        for point in entry_points(group=group)
        if group not in NO_SUITE and point.dist is not None
    }
    return [point for point in points.values() if point.dist.name.startswith("ferrule")]


def test_r23_every_driver_and_tool_of_ours_goes_through_a_suite():
    suites = "\n".join(
        path.read_text("utf-8")
        for folder in ("core", "plugins", "sandboxes", "reviewers")
        for path in (ROOT / folder).rglob("test_*conformance.py")
    )
    left_out = {
        point.name for point in ours() if f"return {point.value.partition(':')[2]}(" not in suites
    }
    assert left_out == set(LEFT_OUT)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_r23_suites_run_on_strangers_plugins_without_a_kernel(tmp_path):
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")

    def uv(*words):
        done = subprocess.run(["uv", *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    members = [ROOT / "hookspecs", ROOT / "tests" / "kit"]
    for source in (*members, SAMPLES / "acme-ticket", SAMPLES / "acme-reviewer"):
        uv("build", "--wheel", "-q", "-o", tmp_path / "wheels", source)
    uv("venv", "-q", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    names = ("ferrule-testkit", "acme-ticket", "acme-reviewer")
    uv("pip", "install", "-q", "--python", python, "--find-links", tmp_path / "wheels", *names)
    project = tmp_path / "project"
    project.mkdir()
    (project / "test_strangers.py").write_text(STRANGERS + WITHOUT_KERNEL)
    (project / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(budget):
        words = ["-m", "pytest", "-q", f"--ferrule-import-budget={budget}"]
        return subprocess.run(
            [python, *words], cwd=project, capture_output=True, text=True, check=False
        )

    ended = run(100_000)
    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout.splitlines()[-1]

    ended = run(0.001)
    assert ended.returncode == 1
    assert "importing acme_ticket.tool takes" in ended.stdout
    assert "the budget is 0.001 ms" in ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_r23_importing_ours_does_nothing_but_define_it():
    suites = [
        str(path.relative_to(ROOT))
        for folder in ("core", "plugins", "sandboxes", "reviewers")
        for path in sorted((ROOT / folder).rglob("test_*conformance.py"))
    ]
    words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "importing or heavy"]
    thorough = ["-o", "ferrule_thorough=true", "tests/kit/tests/test_first_party.py", *suites]

    ended = subprocess.run(
        [sys.executable, *words, *thorough], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stdout[-3000:]
    assert " passed" in ended.stdout.splitlines()[-1]
