"""What 30 installed plugins cost at start, against three.

    python benchmarks/startup_plugins.py [--runs 15] [--wheels DIR]

Two environments with the lean set and the kernel's commands, which differ in the number of
plugins. Each command is run in turn in both; the table shows the least processor time and the least
wall time in ms, and the ratios. The first round, which looks at new plugins, is left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ferrule_testkit.crowd import install_crowd

ROOT = Path(__file__).resolve().parents[1]
COUNTS = (3, 30)
COMMANDS = (["--version"], ["--help"], ["plugins", "list"])


def environment(folder: Path, wheels: Path, count: int) -> Path:
    """Make an environment with some plugins; returns its `ferrule`."""
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    python = str(folder / "bin" / "python")
    options = ["-q", "--python", python, "--find-links", str(wheels), "--compile-bytecode"]
    wanted = ["ferrule-core[lean]", "ferrule-core[commands]"]
    subprocess.run(["uv", "pip", "install", *options, *wanted], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    install_crowd(site, count)
    return folder / "bin" / "ferrule"


def cost_ms(argv: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Run a command; returns its processor time and its wall time."""
    started = time.perf_counter()
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{argv} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000, wall * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--wheels", type=Path, help="a folder with the wheels of Ferrule")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ferrule-start-") as name:
        folder = Path(name)
        wheels = options.wheels or folder / "wheels"
        if not options.wheels:
            argv = ["uv", "build", "--all-packages", "--wheel", "-q", "-o", str(wheels), str(ROOT)]
            subprocess.run(argv, check=True)
        programs = {count: environment(folder / str(count), wheels, count) for count in COUNTS}
        seen: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for turn in range(options.runs + 1):
            for number, words in enumerate(COMMANDS):
                for count, program in programs.items():
                    home = folder / f"home-{count}"
                    environ = {**os.environ, "HOME": str(home), "FERRULE_HOME": str(home / "f")}
                    environ.pop("XDG_CACHE_HOME", None)
                    figure = cost_ms([str(program), *words], environ)
                    if turn:
                        seen.setdefault((number, count), []).append(figure)
    head = ("cpu 3", "cpu 30", "ratio", "wall 3", "wall 30", "ratio")
    print(
        f"{'command':14}",
        *(f"{word:>{width}}" for word, width in zip(head, (8, 8, 6) * 2, strict=True)),
    )
    for number, words in enumerate(COMMANDS):
        cells = ""
        for kind in range(2):
            few, many = (min(row[kind] for row in seen[number, count]) for count in COUNTS)
            cells += f" {few:8.1f} {many:8.1f} {many / few:6.2f}"
        print(f"{' '.join(words):14}{cells}")


if __name__ == "__main__":
    main()
