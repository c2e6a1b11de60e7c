"""One sandboxed `true` through the kernel against the same bubblewrap call made bare.

    python benchmarks/sandbox_overhead.py [--runs 200] [--codex PATH]

`kernel` is the whole way of a tool: policy resolved anew, launch prepared, process started, output
read, exit awaited. `bare` is bubblewrap started by the standard library with the very arguments
that the backend made, without a policy to resolve. Runs alternate; figures are medians in ms.
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
from ferrule_hookspecs.sandbox import Command


def bare(workspace: str) -> float:
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
        seen: dict[str, list[float]] = {"bare": [], "kernel": [], "codex sandbox": []}

        async def measure(kernel) -> None:
            request = ConfigRequest(cwd=workspace, flags={"sandbox_mode": "workspace-write"})
            config = kernel.config(request)
            for turn in range(options.runs + 5):
                figures = {
                    "bare": bare(workspace),
                    "kernel": await through_kernel(kernel, config, workspace),
                }
                if options.codex and turn % 10 == 0:
                    figures["codex sandbox"] = codex_helper(options.codex, workspace)
                if turn >= 5:
                    for name, figure in figures.items():
                        seen[name].append(figure * 1000)
                await anyio.lowlevel.checkpoint()

        LocalHost(home, os.environ).run(measure)
    floor = statistics.median(seen["bare"])
    print(f"{'way':14} {'median ms':>10} {'min':>8} {'ratio':>7}   (target: kernel <= 2 x bare)")
    for name, figures in seen.items():
        if figures:
            middle = statistics.median(figures)
            print(f"{name:14} {middle:10.2f} {min(figures):8.2f} {middle / floor:7.2f}")


if __name__ == "__main__":
    main()
