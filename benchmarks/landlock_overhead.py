"""A `true` started bare, in the sandbox landlock, and in the sandbox bubblewrap.

    python benchmarks/landlock_overhead.py [--runs 300]

`bare` is what the standard library needs to start a program and read its output. The others are a
backend's whole way: launch prepared, process started, output read, exit awaited, everything given
back. Ways alternate; figures are medians in ms. The home holds a credential, so that what may be
read is granted entry by entry.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command, ResolvedPolicy, WritableRoot
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend
from ferrule_sandbox_landlock.backend import LandlockBackend

_ENTRIES = 100  # of the home, as people have them


def bare(workspace: str, env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        ["/bin/true"], env=env, cwd=workspace, check=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return time.perf_counter() - started


def confined(backend, policy: ResolvedPolicy, command: Command) -> float:
    started = time.perf_counter()
    launch = backend.prepare(policy, command)
    child = subprocess.Popen(
        launch.argv, env=dict(launch.env), cwd=launch.cwd, pass_fds=launch.pass_fds,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    launch.started()
    output, _ = child.communicate()
    launch.cleanup()
    assert child.returncode == 0, output
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace, home = f"{folder}/work", Path(folder, "home")
        Path(workspace).mkdir()
        (home / ".ssh").mkdir(parents=True)
        for number in range(_ENTRIES):
            (home / f"entry-{number}").mkdir()
        env = {"PATH": "/usr/bin:/bin"}
        command = Command(("/bin/true",), workspace, env)
        roots = (WritableRoot(workspace), WritableRoot("/tmp"))
        policy = ResolvedPolicy(
            "workspace-write", workspace, roots, deny_read=(str(home / ".ssh"),), max_processes=1024
        )
        context = PluginContext(home, {}, workspace, environ=os.environ)
        backends = {"landlock": LandlockBackend(context), "bubblewrap": BubblewrapBackend(context)}
        usable = {name: each for name, each in backends.items() if each.probe().available}
        seen: dict[str, list[float]] = {name: [] for name in ("bare", *usable)}
        for turn in range(options.runs + 5):
            figures = {"bare": bare(workspace, env)}
            figures |= {name: confined(each, policy, command) for name, each in usable.items()}
            if turn >= 5:
                for name, figure in figures.items():
                    seen[name].append(figure * 1000)
        if "bubblewrap" in usable:
            backends["bubblewrap"].close()
    floor = statistics.median(seen["bare"])
    print(f"{'way':12} {'median ms':>10} {'min':>8} {'over bare':>10} {'ratio':>7}", end="")
    print("   (target: landlock <= 5 ms over bare)")
    for name, figures in seen.items():
        middle = statistics.median(figures)
        over = middle - floor
        print(f"{name:12} {middle:10.2f} {min(figures):8.2f} {over:10.2f} {middle / floor:7.2f}")


if __name__ == "__main__":
    main()
