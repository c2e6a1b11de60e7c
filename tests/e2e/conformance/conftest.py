"""Runs recorded scenarios of `exec` against `ferrule` and says how the outcome differs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from ferrule_testkit.surroundings import free_port, missing

ROOT = Path(__file__).parents[3]
RECORDED = ROOT.parent / "shared" / "conformance"
RUNNER = RECORDED / "run_exec_scenarios.py"
FERRULE = Path(sys.executable).with_name("ferrule")
DIFFERENCES = Path(__file__).with_name("differences.toml")


def scenario_names() -> list[str]:
    if not RUNNER.exists():
        return []
    return sorted(path.parent.name for path in (RECORDED / "exec").glob("*/scenario.json"))


def pytest_generate_tests(metafunc):
    if "scenario" not in metafunc.fixturenames:
        return
    slow = set(tomllib.loads(DIFFERENCES.read_text())["slow"])
    metafunc.parametrize(
        "scenario",
        [pytest.param(n, marks=[pytest.mark.slow] * (n in slow)) for n in scenario_names()],
    )


@dataclass(frozen=True)
class Expectation:
    """What `differences.toml` says about one scenario."""

    pending: int | None
    lines: tuple[str, ...]

    def unmet(self, found: list[str]) -> list[str]:
        """Compare with the differences found; each line must be accounted for, both ways."""
        left = Counter(found)
        complaints = []
        for expected in self.lines:
            line = next((line for line in left if left[line] and matches(expected, line)), None)
            if line is None:
                complaints.append(f"listed, but does not occur any more: {expected}")
            else:
                left[line] -= 1
        complaints += [f"not listed: {line}" for line in left.elements()]
        return complaints


def matches(expected: str, line: str) -> bool:
    if expected.startswith("re:"):
        return re.fullmatch(expected[3:], line) is not None
    return expected == line


class Conformance:
    """The recorded scenarios, the runner, and the list of intended differences."""

    def __init__(self) -> None:
        self.scenarios = scenario_names()
        self.listed = tomllib.loads(DIFFERENCES.read_text())

    def expectation(self, scenario: str) -> Expectation:
        entry = self.listed["scenario"].get(scenario, {})
        lines = [line for each in entry.get("difference", []) for line in each["lines"]]
        return Expectation(entry.get("pending"), tuple(lines))

    def run(self, scenario: str) -> list[str]:
        """Run a scenario; returns the lines in which it differs from the recorded one."""
        # Outside of /tmp, which commands may write to; the runner's normalisation wants `/run/`.
        base = Path(tempfile.mkdtemp(prefix="conformance-", dir="/var/tmp"))
        try:
            self._run(scenario, base)
            return self._diff(scenario, base / "out")
        finally:
            shutil.rmtree(base, ignore_errors=True)

    def _run(self, scenario: str, base: Path) -> None:
        command = [
            os.environ.get("FERRULE_TEST_EXECUTABLE", FERRULE),
            "--only",
            re.escape(scenario),
            "--src",
            self._scripted(scenario, base / "scenarios"),
        ]
        command += ["--out", base / "out", "--work", base / "run", "--port", str(free_port())]
        done = runner("run", *command)
        assert done.returncode == 0, done.stderr

    def _scripted(self, scenario: str, folder: Path) -> Path:
        """Copy a scenario, with scripted answers going to our own form of the same request."""
        shutil.copytree(RECORDED / "exec" / scenario, folder / scenario)
        for program in (RECORDED / "exec").glob("*.py"):  # an MCP server, for some
            shutil.copy(program, folder)
        script = folder / scenario / "script.json"
        if script.exists():
            text = script.read_text()
            for each in self.listed["asks_for"]:
                text = text.replace(each["recorded"], each["ours"])
            script.write_text(text)
        settings = folder / scenario / "scenario.json"
        text = settings.read_text()
        for each in self.listed["settings"]:
            if each["where"] in text:
                text = text.replace(each["recorded"], each["ours"])
        settings.write_text(text)
        return folder

    def _diff(self, scenario: str, out: Path) -> list[str]:
        recorded = out.with_name("recorded")
        shutil.copytree(RECORDED / "exec" / scenario, recorded / scenario)
        alike = self.listed["scenario"].get(scenario, {}).get("alike", [])
        rewrite(recorded / scenario, alike)
        rewrite(out / scenario, [*self.listed["everywhere"], *alike])
        said = runner("diff", recorded, out, "--only", re.escape(scenario)).stdout
        lines = [line[6:] for line in said.splitlines() if line.startswith(" " * 6)]
        differing = [line for line in lines if not re.match(r"@@|stdout[.\w]*:$", line)]
        return differing + self._survivors(scenario, out)

    def _survivors(self, scenario: str, out: Path) -> list[str]:
        return [
            f"{path.name}: {path.read_text()}"
            for path in sorted((out / scenario).glob("survivors*.json"))
            if path.read_text() != "[]"
        ]


def rewrite(folder: Path, rules: list[dict[str, str]]) -> None:
    """Apply rules to what a scenario wrote on stdout."""
    for path in folder.glob("stdout*.jsonl"):
        text = path.read_text(errors="replace")
        for rule in rules:
            text = re.sub(rule["pattern"], rule["replacement"], text)
        path.write_text(text)


# Two scenarios list the environment: it must not depend on the machine.
PLAIN_ENVIRONMENT = {
    name: os.environ[name] for name in ("PATH", "HOME", "XDG_CACHE_HOME") if name in os.environ
}


def runner(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    # In a process of its own: it leaves files and sockets to the garbage collector.
    return subprocess.run(
        [sys.executable, RUNNER, *arguments],
        env=PLAIN_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def conformance() -> Conformance:
    if not RUNNER.exists():
        missing(f"the recorded scenarios are not here ({RECORDED}); nothing was compared")
    return Conformance()
