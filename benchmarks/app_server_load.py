"""Many threads on one app-server: ours and the real `codex app-server`, over stdio.

    python benchmarks/app_server_load.py --codex PATH [--threads 200] [--many 1000]

Starts threads one after the other, each in a repository of its own, then a turn on each at once;
the model streams every answer in 20 pieces of 10 ms. Wall and CPU seconds and peak memory are the
server's own process; a ratio is ours divided by theirs. `--many` is measured for ours alone,
against the cost of `--threads`.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from app_server_client import (
    FERRULE,
    StdioClient,
    cpu_seconds,
    peak_mb,
    places,
    stream_model,
)

START_TARGET, TURNS_TARGET, MEMORY_TARGET, GROWTH_TARGET = 0.1, 0.3, 0.5, 5.5


@dataclass
class Figures:
    start: float
    turns: float
    cpu: float
    memory: float


async def measure(argv: list[str], threads: int, workspace: Path, environ: dict) -> Figures:
    client = await StdioClient.start(argv, workspace, environ)
    pid = client.process.pid
    try:
        folders = [repository(workspace / f"project-{number}") for number in range(threads)]
        began = time.perf_counter()
        ids = []
        for folder in folders:
            wanted = {"cwd": str(folder), "sandbox": "workspace-write"}
            started = await client.request("thread/start", wanted)
            ids.append(started["thread"]["id"])
        start = time.perf_counter() - began
        turns = await run_turns(client, ids)
        return Figures(start, turns, cpu_seconds(pid), peak_mb(pid))
    finally:
        await client.stop()


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


async def run_turns(client: StdioClient, ids: list[str]) -> float:
    left = set(ids)
    done = asyncio.Event()

    def listen(message: dict) -> None:
        if message["method"] == "turn/completed":
            turn = message["params"]["turn"]
            if turn["status"] != "completed":
                raise SystemExit(f"a turn ended as {turn['status']}: {turn.get('error')}")
            left.discard(message["params"]["threadId"])
            if not left:
                done.set()

    client.listeners.append(listen)
    began = time.perf_counter()
    starting = [asyncio.create_task(start_turn(client, each)) for each in ids]
    await asyncio.wait_for(done.wait(), 600)
    took = time.perf_counter() - began
    await asyncio.gather(*starting)
    return took


async def start_turn(client: StdioClient, thread_id: str) -> None:
    """Start a turn; a server that says it has too much to do is asked again."""
    text = [{"type": "text", "text": "go"}]
    while True:
        try:
            await client.request("turn/start", {"threadId": thread_id, "input": text})
        except RuntimeError as error:
            if "overloaded" not in str(error):
                raise
            await asyncio.sleep(0.1)
        else:
            return


def row(name: str, threads: int, figures: Figures, ratios: str = "") -> None:
    print(
        f"{name:9}{threads:8}{figures.start:10.2f}{figures.turns:10.2f}"
        f"{figures.cpu:9.2f}{figures.memory:9.1f}   {ratios}".rstrip()
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--codex", help="the Rust binary of npm @openai/codex")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--many", type=int, default=1000, help="0 leaves it out")
    options = parser.parse_args()
    print(f"{'server':9}{'threads':>8}{'start s':>10}{'turns s':>10}{'CPU s':>9}{'peak MB':>9}")
    ours = await one(str(FERRULE), options.threads)
    row("ferrule", options.threads, ours)
    if options.many:
        many = await one(str(FERRULE), options.many)
        growth = (many.start + many.turns) / (ours.start + ours.turns)
        row("ferrule", options.many, many, f"wall {growth:.2f} ({GROWTH_TARGET}) of the line above")
    if options.codex:
        theirs = await one(options.codex, options.threads)
        row(
            "codex",
            options.threads,
            theirs,
            f"ours: start {ours.start / theirs.start:.2f} ({START_TARGET})"
            f"  turns {ours.turns / theirs.turns:.2f} ({TURNS_TARGET})"
            f"  memory {ours.memory / theirs.memory:.2f} ({MEMORY_TARGET})",
        )


async def one(program: str, threads: int) -> Figures:
    with stream_model(20, 0.01) as port, places(port) as (workspace, environ):
        return await measure([program, "app-server"], threads, workspace, environ)


if __name__ == "__main__":
    asyncio.run(main())
