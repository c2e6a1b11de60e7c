"""One sandboxed `true` through the backend against the same bubblewrap call made bare.

    python benchmarks/sandbox_overhead.py [--runs 200] [--codex PATH]

`bare` is bubblewrap with the very mounts, namespaces and variables that the backend asks of it,
and nothing else, started by the standard library. `backend` is what a launch of ours costs in all:
sockets and missing names looked for, stand-ins placed, the filter handed over, bounds set, all of
it given back. `kernel` is the whole way of a tool: policy resolved anew beside. `minimal` is the
least that a careful script would ask of bubblewrap. Runs alternate; figures are medians in ms,
ratios those of runs that lie beside each other. Then eight commands, in a row and at once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import anyio

from ferrule.host import LocalHost
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command
from ferrule_sandbox_bubblewrap.backend import BubblewrapBackend

_WORK = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"


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


def bare_call(backend, policy, command: Command) -> list[str]:
    """The call that the backend would make, without what it hands over beside."""
    launch = backend.prepare(policy, command)
    described = int(launch.argv[launch.argv.index("--args") + 1])
    words = os.fsdecode(os.pread(described, 1 << 20, 0)).split("\0")[:-1]
    for option in ("--seccomp", "--info-fd", "--block-fd"):
        at = words.index(option)
        del words[at : at + 2]
    if launch.cleanup is not None:
        launch.cleanup()
    return [launch.argv[0], *words, "--", *command.argv]


class NotStartedError(Exception):
    """A socket of another program vanished while the sandbox was set up: the run does not count."""


def _check(code: int | None) -> None:
    if code:
        raise NotStartedError(f"exit code {code}")


def bare(argv: list[str]) -> float:
    started = time.perf_counter()
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/")
    _check(ended.returncode)
    return time.perf_counter() - started


def through_backend(backend, policy, command: Command) -> float:
    started = time.perf_counter()
    launch = backend.prepare(policy, command)
    try:
        child = subprocess.Popen(
            launch.argv, env=dict(launch.env), cwd=launch.cwd, pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if launch.started is not None:
            launch.started()
        child.communicate()
        _check(child.returncode)
    finally:
        if launch.cleanup is not None:
            launch.cleanup()
    return time.perf_counter() - started


def eight_at_once(backend, policy, command: Command) -> tuple[float, float]:
    """Eight commands after each other and at once; each does as much work as it takes to start."""
    started = time.perf_counter()
    for _ in range(8):
        through_backend(backend, policy, command)
    between = time.perf_counter()
    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(through_backend, backend, policy, command) for _ in range(8)]:
            each.result()
    return between - started, time.perf_counter() - between


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--codex", help="the Rust binary of npm @openai/codex")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace, home = f"{folder}/work", Path(folder, "home")
        Path(workspace).mkdir()
        home.mkdir()
        subprocess.run(["git", "init", "-q", workspace], check=True)
        names = ("bare", "backend", "kernel", "minimal", "codex sandbox")
        seen: dict[str, list[float]] = {name: [] for name in names}
        eights: list[tuple[float, float]] = []
        backend = BubblewrapBackend(PluginContext(home, {}, workspace, environ=os.environ))
        command = Command(("/bin/true",), workspace, {"PATH": os.environ["PATH"]})
        work = Command(("/bin/sh", "-c", _WORK), workspace, {"PATH": os.environ["PATH"]})

        async def measure(kernel) -> None:
            request = ConfigRequest(cwd=workspace, flags={"sandbox_mode": "workspace-write"})
            config = kernel.config(request)
            policy = kernel.sandbox(config, workspace).policy
            held = backend.prepare(policy, command)  # its stand-ins stay while it is held
            for turn in range(options.runs + 5):
                try:
                    figures = {
                        "bare": bare(bare_call(backend, policy, command)),
                        "backend": through_backend(backend, policy, command),
                        "kernel": await through_kernel(kernel, config, workspace),
                        "minimal": minimal(workspace),
                    }
                except NotStartedError:
                    continue
                if options.codex and turn % 5 == 0:
                    figures["codex sandbox"] = codex_helper(options.codex, workspace)
                if turn >= 5:
                    for name, figure in figures.items():
                        seen[name].append(figure * 1000)
                await anyio.lowlevel.checkpoint()
            for _ in range(10):
                with suppress(NotStartedError):
                    eights.append(eight_at_once(backend, policy, work))
            if held.cleanup is not None:
                held.cleanup()

        LocalHost(home, os.environ).run(measure)
        anyio.run(backend.aclose)
    show(seen, eights)


def show(seen: dict[str, list[float]], eights: list[tuple[float, float]]) -> None:
    print(f"{'way':14} {'median ms':>10} {'min':>8} {'to bare':>8}")
    for name, figures in seen.items():
        if figures:
            # With others on the machine, single runs differ more than the ways do.
            ratio = statistics.median(figures) / statistics.median(seen["bare"])
            print(f"{name:14} {statistics.median(figures):10.2f} {min(figures):8.2f} {ratio:8.2f}")
    pairs = zip(seen["backend"], seen["bare"], strict=True)
    beside = statistics.median(ours / theirs for ours, theirs in pairs)
    print(f"backend to bare, runs beside each other: {beside:.2f}   (target: <= 1.3)")
    if seen["codex sandbox"]:
        codex = statistics.median(seen["backend"]) / statistics.median(seen["codex sandbox"])
        print(f"backend to codex sandbox: {codex:.2f}   (target: <= 0.5)")
    one, eight = (statistics.median(figures) * 1000 for figures in zip(*eights, strict=True))
    print(
        f"eight commands: {one:.0f} ms one after the other, {eight:.0f} ms at once:"
        f" {one / eight:.2f} times as fast on {os.cpu_count()} cores"
    )
    print(f"load while measuring: {' '.join(f'{each:.1f}' for each in os.getloadavg())}")


if __name__ == "__main__":
    main()
