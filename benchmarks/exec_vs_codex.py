"""Compares `ferrule exec` with the real `codex exec` on the same scripted conversations.

    python benchmarks/exec_vs_codex.py --codex PATH [--runs 9] [--only plain,one]

Both run alternately against one local model server. Wall time and CPU seconds include children;
memory is the peak resident set of the main process. A ratio is ours divided by theirs, of medians.
PATH is the Rust binary of npm `@openai/codex`; without it only our own figures are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.model_server import ScriptedModelServer

CONFIG = """model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "workspace-write"
[model_providers.mock]
name = "mock"
base_url = "{base_url}"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false
[analytics]
enabled = false
"""


def command(cmd: str, number: int = 0) -> dict:
    return function_call("exec_command", {"cmd": cmd}, call_id=f"call_{number}")


def plain() -> list:
    return [[message("Hello there.")]]


def one_command() -> list:
    return [[command("echo hi")], [message("done")]]


def hundred_commands() -> list:
    return [*([command(f"echo {n}", n)] for n in range(100)), [message("done")]]


def twenty_parallel() -> list:
    return [[command(f"sleep 0.1; echo {n}", n) for n in range(20)], [message("done")]]


def many_deltas() -> list:
    return [{"deltas": {"count": 20_000, "text": "word "}}]


def big_output() -> list:
    return [
        [command("yes 'a line of output that is fairly long' | head -c 14000000")],
        [message("done")],
    ]


@dataclass
class Case:
    name: str
    script: Callable[[], list]
    wall_target: float
    memory_target: float | None = None
    runs: int | None = None


CASES = [
    Case("plain turn", plain, 0.9, 0.5),
    Case("one command", one_command, 0.7),
    Case("100 commands", hundred_commands, 0.25, runs=3),
    Case("20 parallel", twenty_parallel, 0.5, runs=5),
    Case("20k deltas", many_deltas, 0.9),
    Case("14 MB output", big_output, 0.7),
]


@dataclass
class Figures:
    wall: float
    cpu: float
    memory: float


def run_once(argv: list[str], home: Path, workspace: Path) -> Figures:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
        "CODEX_HOME": str(home),
        "FERRULE_HOME": str(home),
        "HOME": str(home),
        "MOCK_KEY": "x",
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    child = subprocess.Popen(
        argv,
        cwd=workspace,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    last = out.splitlines()[-1] if out else b"{}"
    if child.returncode or json.loads(last)["type"] != "turn.completed":
        raise SystemExit(f"{argv[0]} failed: {out[-500:]!r} {err[-500:]!r}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Figures(wall, cpu, usage.ru_maxrss / 1024)


def measure(
    case: Case, programs: dict[str, list[str]], runs: int, server, base: Path
) -> dict[str, Figures]:
    seen: dict[str, list[Figures]] = {name: [] for name in programs}
    for turn in range((case.runs or runs) + 1):
        for name, argv in programs.items():
            home, workspace = base / f"home-{name}", base / "workspace"
            server.play(case.script())
            figures = run_once([*argv, "exec", "--json", "go"], home, workspace)
            if turn:  # the first round warms caches
                seen[name].append(figures)
    return {
        name: Figures(
            *(
                statistics.median(getattr(f, field) for f in figures)
                for field in ("wall", "cpu", "memory")
            )
        )
        for name, figures in seen.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codex", help="the Rust binary of npm @openai/codex")
    parser.add_argument(
        "--ferrule", default=shutil.which("ferrule", path=Path(sys.executable).parent)
    )
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", help="parts of case names, comma-separated")
    options = parser.parse_args()
    programs = {"ferrule": [options.ferrule]}
    if options.codex:
        programs["codex"] = [options.codex]
    wanted = (options.only or "").split(",")
    # Codex refuses to keep its helpers under the temp folder, hence a folder beside the home.
    with ScriptedModelServer() as server, tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        base = Path(folder)
        (base / "workspace").mkdir()
        subprocess.run(["git", "init", "-q"], cwd=base / "workspace", check=True)
        for name in programs:
            (base / f"home-{name}").mkdir()
            (base / f"home-{name}" / "config.toml").write_text(
                CONFIG.format(base_url=server.base_url)
            )
        print(
            f"{'case':14} {'program':8} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}   ratios (target)"
        )
        for case in CASES:
            if not any(part in case.name for part in wanted):
                continue
            medians = measure(case, programs, options.runs, server, base)
            for name, figures in medians.items():
                line = (
                    f"{case.name:14} {name:8} {figures.wall:8.3f}"
                    f" {figures.cpu:8.3f} {figures.memory:8.1f}"
                )
                if name == "ferrule" and "codex" in medians:
                    theirs = medians["codex"]
                    line += (
                        f"   wall {figures.wall / theirs.wall:.2f} ({case.wall_target})"
                        f"  CPU {figures.cpu / theirs.cpu:.2f}"
                        f"  memory {figures.memory / theirs.memory:.2f}"
                        + (f" ({case.memory_target})" if case.memory_target else "")
                    )
                print(line, flush=True)


if __name__ == "__main__":
    main()
