"""Runs recorded conversations against `ferrule app-server` and says how the outcome differs."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ferrule_testkit.surroundings import free_port, missing

ROOT = Path(__file__).parents[3]
RECORDED = ROOT.parent / "shared" / "conformance" / "app-server"
TRANSCRIPTS = RECORDED / "transcripts"
FERRULE = Path(os.environ.get("FERRULE_TEST_EXECUTABLE", Path(sys.executable).with_name("ferrule")))
DIFFERENCES = Path(__file__).with_name("differences.toml")
DRIVER = ("drive_app_server.py", "mock2.py", "demo_mcp.py", "validate_transcript.py")


def scenario_names() -> list[str]:
    return sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl"))


def pytest_generate_tests(metafunc):
    if "scenario" not in metafunc.fixturenames:
        return
    slow = set(tomllib.loads(DIFFERENCES.read_text())["slow"])
    metafunc.parametrize(
        "scenario",
        [pytest.param(n, marks=[pytest.mark.slow] * (n in slow)) for n in scenario_names()],
    )


_SHOW_SCENARIO = """
import json, sys
sys.path.insert(0, sys.argv[1])
import drive_app_server as driver
wanted = driver.SCENARIOS[sys.argv[2]]
config = driver.BASE_CONFIG
for key in ("model", "approval", "sandbox", "top", "provider", "tables"):
    config = config.replace("{%s}" % key, wanted[key])
print(json.dumps({"mock": wanted["mock"], "config": config, "files": wanted["files"]}))
"""


@dataclass(frozen=True)
class Outcome:
    """What came of driving a scenario: the lines that differ, and what went wrong on the way."""

    differences: list[str]
    faults: list[str]


class Recorded:
    """The recorded conversations, their driver, and the list of intended differences."""

    def __init__(self) -> None:
        self.scenarios = scenario_names()
        self.listed = tomllib.loads(DIFFERENCES.read_text())
        self.folder = RECORDED

    def scenario(self, name: str) -> dict[str, object]:
        """The scripted model and the configuration of a scenario, as the driver has them."""
        said = python("-c", _SHOW_SCENARIO, self.folder, name)
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)

    def pending(self, scenario: str) -> int | None:
        return self.listed["scenario"].get(scenario, {}).get("pending")

    def run(self, scenario: str) -> Outcome:
        # Outside of /tmp, which commands may write to.
        base = Path(tempfile.mkdtemp(prefix="app-server-", dir="/var/tmp"))
        try:
            return self._run(scenario, base)
        finally:
            shutil.rmtree(base, ignore_errors=True)

    def _run(self, scenario: str, base: Path) -> Outcome:
        driver = self._driver(base / "driver")
        out = base / "out"
        arguments = ["run", "--server", f"{FERRULE} app-server", "--only", scenario]
        arguments += ["--out", out, "--work", base / "work", "--env", "FERRULE_HOME={home}"]
        arguments += ["--mock-port", str(free_port()), "--port", str(free_port())]
        if scenario in self.listed["over_websocket"]:
            arguments += ["--transport", "ws"]
        done = python(driver / DRIVER[0], *arguments)
        transcript = out / f"{scenario}.jsonl"
        if not transcript.exists():
            return Outcome([], [f"the driver failed: {done.stdout}{done.stderr}"])
        text = transcript.read_text()
        faults = re.findall(r"SCENARIO FAILED: .*|never answered [1-9].*", text)
        errors = out / f"{scenario}.stderr"
        if errors.exists() and "Traceback" in errors.read_text():
            faults.append(errors.read_text())
        checked = python(
            driver / DRIVER[3], "--schema", RECORDED / "schema-experimental", transcript
        )
        # A reply to a message that the driver sent as raw text has no method to check it by.
        faults += re.findall(r"(?:INVALID .*|no schema: (?!\('reply', None\)).*)", checked.stdout)
        compared = python(
            driver / DRIVER[0], "compare", TRANSCRIPTS / transcript.name, transcript, "--lenient"
        )
        lines = [line for line in compared.stdout.splitlines() if line[:1] in "~-+" and line[:1]]
        return Outcome(lines, [fault for fault in faults if "client request" not in fault])

    def _driver(self, folder: Path) -> Path:
        """Copy the driver, with scripted answers going to our own form of the same request."""
        folder.mkdir()
        for name in DRIVER:
            text = (RECORDED / name).read_text()
            for each in self.listed["asks_for"]:
                text = text.replace(each["recorded"], each["ours"])
            (folder / name).write_text(text)
        return folder

    def complaints(self, scenario: str, found: list[str]) -> list[str]:
        """Compare with the differences that are listed; what is listed must occur, too.

        A line that is listed as it stands occurs exactly so often as it is listed.
        """
        entry = self.listed["scenario"].get(scenario, {})
        own = [line for each in entry.get("difference", []) for line in each.get("lines", [])]
        timing = [line for each in entry.get("timing", []) for line in each["lines"]]
        patterns = [line for line in own if line.startswith("re:")]
        everywhere = self.listed["everywhere"]
        passed = [line for each in everywhere for line in each.get("lines", [])]
        left = [line for line in found if not any(matches(each, line) for each in passed)]
        moved = [what for each in everywhere for what in each.get("moved", [])]
        own_moved = [m for each in entry.get("difference", []) for m in each.get("moved", [])]
        gone = [f"moved {what}" for what in own_moved if not is_moved(what, left)]
        for what in (*moved, *own_moved):
            left = without_moved(what, left)
        for line in own:
            if line in left:
                left.remove(line)
            elif line not in patterns or not any(matches(line, each) for each in left):
                gone.append(line)
        left = [line for line in left if not any(matches(each, line) for each in patterns + timing)]
        return [
            *(f"not listed: {line}" for line in left),
            *(f"listed, but does not occur any more: {line}" for line in gone),
        ]


def ends_of(what: str) -> tuple[str, str]:
    """The two lines that say that a message (its method and item type) came at another place."""
    method, _, kind = what.partition(" ")
    shape = ("s>c", method, kind, "")
    return f"- only in A: {shape}", f"+ only in B: {shape}"


def is_moved(what: str, lines: list[str]) -> bool:
    return all(end in lines for end in ends_of(what))


def without_moved(what: str, lines: list[str]) -> list[str]:
    """Take out what only came at another place: as often as it is missing where it was."""
    lines = list(lines)
    while is_moved(what, lines):
        for end in ends_of(what):
            lines.remove(end)
    return lines


def matches(expected: str, line: str) -> bool:
    if expected.startswith("re:"):
        return re.fullmatch(expected[3:], line) is not None
    return expected == line


PLAIN_ENVIRONMENT = {
    name: os.environ[name] for name in ("PATH", "HOME", "XDG_CACHE_HOME") if name in os.environ
}


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=PLAIN_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def missing_here():
    return missing


@pytest.fixture(scope="session")
def ferrule() -> Path:
    return FERRULE


@pytest.fixture
def free_ports():
    """Finds the first of several neighbouring free ports."""

    def find(count: int) -> int:
        while True:
            first = free_port()
            try:
                for port in range(first, first + count):
                    with socket.socket() as probe:
                        probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first

    return find


@pytest.fixture
def scripted_by_driver():
    """Runs the recorded driver's scripted model; yields its base URL."""

    @contextmanager
    def serve(script: Path, log: Path) -> Iterator[str]:
        port = free_port()
        with subprocess.Popen(
            [sys.executable, RECORDED / "mock2.py", str(port), script, log]
        ) as model:
            try:
                await_port(port)
                yield f"http://127.0.0.1:{port}/v1"
            finally:
                model.terminate()

    return serve


@pytest.fixture
def prepared(recorded, scripted_by_driver):
    """Sets up a recorded scenario: its model, home and workspace; yields where and how to run."""

    @contextmanager
    def prepare(scenario: str) -> Iterator[tuple[Path, dict[str, str]]]:
        base = Path(tempfile.mkdtemp(prefix="app-server-", dir="/var/tmp"))
        (home := base / "home").mkdir()
        (workspace := base / "ws").mkdir()
        wanted = recorded.scenario(scenario)
        script = base / "script.json"
        script.write_text(json.dumps(wanted["mock"]))
        try:
            with scripted_by_driver(script, base / "model.jsonl") as base_url:
                port = base_url.split(":")[2].partition("/")[0]
                config = wanted["config"].replace("{mport}", port)
                (home / "config.toml").write_text(config)
                (workspace / "README.md").write_text("# demo\n")
                for arguments in ("init -q -b main", "add README.md", "commit -qm init"):
                    identity = ("-c", "user.email=a@b", "-c", "user.name=n")
                    git = ["git", "-C", workspace, *identity, *arguments.split()]
                    subprocess.run(git, check=True)
                for name, content in wanted["files"].items():
                    (workspace / name).parent.mkdir(parents=True, exist_ok=True)
                    (workspace / name).write_text(content)
                own = {
                    "FERRULE_HOME": str(home),
                    "CODEX_HOME": str(home),
                    "HOME": str(base),
                    "MOCK_KEY": "x",
                }
                yield workspace, {**PLAIN_ENVIRONMENT, **own}
        finally:
            shutil.rmtree(base, ignore_errors=True)

    return prepare


def await_port(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, f"nobody listens on port {port}"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    if not TRANSCRIPTS.exists():
        missing(f"the recorded conversations are not here ({RECORDED}); nothing was compared")
    return Recorded()
