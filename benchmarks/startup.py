"""Start-up of the command line against the bare interpreter.

    python benchmarks/startup.py [--runs 15]

Each program is started in turn; the table shows the fastest and the median wall time in ms and the
ratio of the fastest to `python -c pass` in the same run.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path


def wall_ms(argv: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument(
        "--ferrule", default=shutil.which("ferrule", path=Path(sys.executable).parent)
    )
    options = parser.parse_args()
    programs = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "ferrule --version": [options.ferrule, "--version"],
        "ferrule --help": [options.ferrule, "--help"],
        "ferrule exec --help": [options.ferrule, "exec", "--help"],
        "ferrule plugins list": [options.ferrule, "plugins", "list"],
    }
    seen: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(options.runs + 1):
        for name, argv in programs.items():
            figure = wall_ms(argv)
            if turn:  # the first round warms caches
                seen[name].append(figure)
    floor = min(seen["python -c pass"])
    print(f"{'command':22} {'min ms':>8} {'median':>8} {'ratio':>7}")
    for name, figures in seen.items():
        best = min(figures)
        print(f"{name:22} {best:8.1f} {statistics.median(figures):8.1f} {best / floor:7.1f}")


if __name__ == "__main__":
    main()
