"""One sandboxed `true` through the kernel against the same bubblewrap call made bare.

    python benchmarks/sandbox_overhead.py [--runs 200] [--codex PATH]

`kernel` is the whole way of a tool: policy resolved anew, launch prepared, process started and
bounded, output read, exit awaited. `same call` is bubblewrap with the very arguments that the
backend made, started by the standard library; only its run is timed. `minimal` is the least that
a careful script would ask of bubblewrap. Runs alternate; figures are medians in ms.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import anyio

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend


def minimal(workspace: str) -> float:
    """The view a careful script would ask for, without our policy."""
    argv = [
        shutil.which("bwrap") or "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--bind", workspace, workspace, "--unshare-user", "--unshare-pid", "--unshare-ipc",
        "--unshare-net", "--unshare-uts", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--chdir", workspace, "--", "/bin/true",
    ]  # fmt: skip
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - started


def same_call(backend, policy, command: Command) -> float:
    """The backend's own launch, without what the kernel does around it."""
    launch = backend.prepare(policy, command)
    try:
        started = time.perf_counter()
        child = subprocess.Popen(
            launch.argv, env=dict(launch.env), cwd=launch.cwd, pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if launch.started is not None:
            launch.started()
        child.communicate()
        assert child.returncode == 0
        return time.perf_counter() - started
    finally:
        if launch.cleanup is not None:
            launch.cleanup()


async def through_kernel(kernel, config, workspace: str) -> float:
    started = time.perf_counter()
    sandbox = kernel.sandbox(config, workspace)
    command = Command(("/bin/true",), workspace, {"PATH": os.environ["PATH"]})
    process = await sandbox.spawn(command)
    while await process.read():
        pass
    assert await process.wait() == 0
    return time.perf_counter() - started


def codex_helper(codex: str, workspace: str) -> float:
    home = Path.home() / ".cache" / "ferrule-bench-codex"
    home.mkdir(parents=True, exist_ok=True)
    argv = [codex, "sandbox", "-c", 'sandbox_mode="workspace-write"', "--", "/bin/true"]
    started = time.perf_counter()
    subprocess.run(
        argv, check=True, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True,
        env=os.environ | {"CODEX_HOME": str(home)},
    )  # fmt: skip
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--codex", help="the Rust binary of npm @openai/codex")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace, home = f"{folder}/work", Path(folder, "home")
        Path(workspace).mkdir()
        home.mkdir()
        subprocess.run(["git", "init", "-q", workspace], check=True)
        names = ("same call", "kernel", "minimal", "codex sandbox")
        seen: dict[str, list[float]] = {name: [] for name in names}
        backend = BubblewrapBackend(PluginContext(home, {}, workspace, environ=os.environ))
        command = Command(("/bin/true",), workspace, {"PATH": os.environ["PATH"]})

        async def measure(kernel) -> None:
            request = ConfigRequest(cwd=workspace, flags={"sandbox_mode": "workspace-write"})
            config = kernel.config(request)
            for turn in range(options.runs + 5):
                figures = {
                    "same call": same_call(
                        backend, kernel.sandbox(config, workspace).policy, command
                    ),
                    "kernel": await through_kernel(kernel, config, workspace),
                    "minimal": minimal(workspace),
                }
                if options.codex and turn % 10 == 0:
                    figures["codex sandbox"] = codex_helper(options.codex, workspace)
                if turn >= 5:
                    for name, figure in figures.items():
                        seen[name].append(figure * 1000)
                await anyio.lowlevel.checkpoint()

        LocalHost(home, os.environ).run(measure)
        anyio.run(backend.aclose)
    floor = statistics.median(seen["same call"])
    print(
        f"{'way':14} {'median ms':>10} {'min':>8} {'ratio':>7}   (target: kernel <= 2 x same call)"
    )
    for name, figures in seen.items():
        if figures:
            middle = statistics.median(figures)
            print(f"{name:14} {middle:10.2f} {min(figures):8.2f} {middle / floor:7.2f}")


if __name__ == "__main__":
    main()
