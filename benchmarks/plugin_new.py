"""A stranger's whole path for each kind of plugin, timed: from `plugins new` to its first use.

    python benchmarks/plugin_new.py [--kind tool …] [--wheels DIR]

new: `ferrule plugins new`; build: its wheel; tests: those it was written with; check: `ferrule
plugins check`; install: into a bare environment, with the lean set; use: a session in which it does
what it is for. What is not counted: the wheels of Ferrule, and the author's environment with the
test kit. Ends with 1 where a step fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ferrule_testkit.app_server_process import AppServerProcess
from ferrule_testkit.home import FerruleHome, FinishedRun, make_home
from ferrule_testkit.line_wire import LineWire
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.model_server import ScriptedModelServer

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("tool", "reviewer", "sandbox", "provider", "transport", "hooks", "command")
STEPS = ("new", "build", "tests", "check", "install", "use")
PATIENCE_S = 120
LEAN = "ferrule-core[lean]"
AUTHORS = (
    LEAN,
    "ferrule-core[commands]",
    "ferrule-author",
    "ferrule-testkit",
    "ferrule-app-server",
)
HELLO = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "me", "version": "1"}}}


class StepError(Exception):
    """A step did not do what it should."""


class Home(FerruleHome):
    """A home whose runs are by the `ferrule` of an environment."""

    def command(self, arguments: Sequence[str]) -> list[str]:
        return [str(Path(self.environ["VIRTUAL_ENV"], "bin", "ferrule")), *arguments]


@dataclass
class Environment:
    """A virtual environment."""

    folder: Path
    wheels: Path

    def __post_init__(self) -> None:
        succeed(["uv", "venv", "-q", "--python", sys.executable, str(self.folder)])

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def install(self, *names: str) -> None:
        options = ["-q", "--python", self.python, "--find-links", str(self.wheels)]
        succeed(["uv", "pip", "install", *options, *names])

    def home(self, folder: Path, base_url: str) -> Home:
        made = make_home(folder, base_url)
        path = f"{self.folder / 'bin'}{os.pathsep}{made.environ['PATH']}"
        environ = {**made.environ, "VIRTUAL_ENV": str(self.folder), "PATH": path}
        environ["XDG_CACHE_HOME"] = str(folder / "cache")
        return Home(made.path, made.workspace, made.base_url, environ)


@dataclass
class Use:
    """A first use: what a session is told, and how one sees that the plugin did its part."""

    check: Callable[[FinishedRun, ScriptedModelServer, Home], bool]
    turns: Sequence[object] = ()
    top: str = ""
    tables: str = ""
    wire_api: str = "responses"
    argv: Sequence[str] = ("exec", "--json", "-a", "on-request", "go")


def call(tool: str, arguments: Mapping[str, object]) -> list[object]:
    return [[function_call(tool, arguments)], [message("done")]]


def outputs(server: ScriptedModelServer) -> str:
    return str(server.requests[-1].body["input"][-1].get("output"))


ESCALATED = {"cmd": "curl x", "sandbox_permissions": "require_escalated", "justification": "x"}
USES = {
    "tool": Use(
        lambda run, server, home: "2 lines, 3 words" in outputs(server),
        call("acme_tool", {"path": "notes.txt"}),
    ),
    "reviewer": Use(
        lambda run, server, home: "rejected by acme_reviewer" in outputs(server),
        call("exec_command", ESCALATED),
        'approvals_reviewer = "acme_reviewer"',
    ),
    "sandbox": Use(
        lambda run, server, home: "held" in outputs(server) and (home.workspace / "in").exists(),
        call("exec_command", {"cmd": "touch in && ! touch /usr/out && echo held"}),
        'sandbox_backend = "acme_sandbox"\nsandbox_accept_gaps = ["missing_names"]',
    ),
    "provider": Use(
        lambda run, server, home: run.items("agent_message")[-1]["text"] == "done",
        call("exec_command", {"cmd": "echo hi"}),
        wire_api="acme_provider",
    ),
    "hooks": Use(
        lambda run, server, home: "is off limits" in outputs(server),
        call("exec_command", {"cmd": "echo production"}),
    ),
    "command": Use(
        lambda run, server, home: run.stdout == "",
        argv=("acme-command", "--json"),
    ),
}


def succeed(argv: Sequence[str], **options: object) -> str:
    done = subprocess.run([*argv], capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        raise StepError(f"{' '.join(argv)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def use(kind: str, home: Home, server: ScriptedModelServer) -> None:
    (home.workspace / "notes.txt").write_text("one two\nthree\n")
    if kind == "transport":
        serve(home)
        return
    wanted = USES[kind]
    home.configure(top=wanted.top, tables=wanted.tables, wire_api=wanted.wire_api)
    if wanted.turns:
        server.play([*wanted.turns])
    run = home.run(*wanted.argv)
    if run.returncode or run.survivors or not wanted.check(run, server, home):
        raise StepError(f"the first use failed: {run}")


def serve(home: Home) -> None:
    with AppServerProcess(home, "acme-transport://127.0.0.1:0") as server:
        if "acme-transport" not in server.urls:
            raise StepError(f"it does not listen: {server.stderr}")
        with closing(LineWire(server.urls["acme-transport"])) as client:
            client.send(json.dumps(HELLO).encode())
            answer = client.frames.get(timeout=PATIENCE_S)
    if b"userAgent" not in (answer or b""):
        raise StepError(f"the server said {answer!r}")


def walk(kind: str, author: Environment, folder: Path) -> dict[str, float]:
    """Take every step for a kind; returns the seconds of each."""
    with ScriptedModelServer() as server:
        at_work = author.home(folder / "author", server.base_url)
        package, dist = folder / f"ferrule-acme-{kind}", folder / "dist"
        bare: list[Environment] = []

        def ferrule(*words: str) -> None:
            run = at_work.run("plugins", *words)
            if run.returncode:
                raise StepError(f"ferrule plugins {words}: {run.stdout}{run.stderr}")

        def install() -> None:
            bare.append(Environment(folder / "bare", author.wheels))
            more = ["ferrule-app-server"] if kind == "transport" else []
            bare[0].install(LEAN, *more, *map(str, dist.glob("*.whl")))

        tests = [author.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        steps = {
            "new": lambda: ferrule("new", f"acme-{kind}", "--kind", kind, "--path", str(folder)),
            "build": lambda: succeed(["uv", "build", "--wheel", "-q", "-o", dist, str(package)]),
            "tests": lambda: succeed(tests, cwd=package, env=at_work.environ),
            "check": lambda: ferrule("check", str(package)),
            "install": install,
            "use": lambda: use(kind, bare[0].home(folder / "user", server.base_url), server),
        }
        return {name: timed(step) for name, step in steps.items()}


def timed(step: Callable[[], object]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels of Ferrule")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ferrule-new-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        wheels = options.wheels or folder / "wheels"
        if not options.wheels:
            succeed(["uv", "build", "--all-packages", "--wheel", "-q", "-o", wheels, str(ROOT)])
        author = Environment(folder / "author", wheels)
        author.install(*AUTHORS)
        print(f"{'kind':10}", *(f"{step:>8}" for step in STEPS), f"{'in all':>8}  seconds")
        for kind in options.kind or KINDS:
            try:
                spent = walk(kind, author, folder / kind)
            except StepError as error:
                print(f"{kind:10} FAILED: {error}")
                return 1
            figures = (*(spent[step] for step in STEPS), sum(spent.values()))
            print(f"{kind:10}", *(f"{figure:8.1f}" for figure in figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
