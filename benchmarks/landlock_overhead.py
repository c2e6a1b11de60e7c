"""A `true` started bare, in the sandbox landlock, and in the sandbox bubblewrap.

    python benchmarks/landlock_overhead.py [--runs 300]

`bare` is what the standard library needs to start a program and read its output. The others are a
backend's whole way: launch prepared, process started, output read, exit awaited, everything given
back. Ways alternate; figures are medians in ms, and the mean of the CPU time of the process and the
command, which tells more on a busy machine. The home holds a credential, so that what may be
read is granted entry by entry.
"""

from __future__ import annotations

import argparse
import os
import resource
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


def cpu_seconds() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


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
        ways = {"bare": lambda: bare(workspace, env)}
        for name, each in usable.items():
            ways[name] = lambda each=each: confined(each, policy, command)
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for turn in range(options.runs + 5):
            for name, way in ways.items():
                before = cpu_seconds()
                wall = way()
                if turn >= 5:
                    seen[name].append((wall * 1000, (cpu_seconds() - before) * 1000))
        if "bubblewrap" in usable:
            backends["bubblewrap"].close()
    walls = {name: [wall for wall, _ in each] for name, each in seen.items()}
    floor = statistics.median(walls["bare"])
    print(
        f"{'way':12} {'median ms':>10} {'min':>8} {'over bare':>10} {'ratio':>7} {'cpu':>8}", end=""
    )
    print("   (target: landlock <= 5 ms over bare)")
    for name, figures in walls.items():
        middle = statistics.median(figures)
        cpu = statistics.mean(cpu for _, cpu in seen[name])
        print(f"{name:12} {middle:10.2f} {min(figures):8.2f} {middle - floor:10.2f}", end="")
        print(f" {middle / floor:7.2f} {cpu:8.2f}")


if __name__ == "__main__":
    main()
