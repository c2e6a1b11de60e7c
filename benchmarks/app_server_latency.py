"""How long a client waits: for a piece of an answer, and while another client floods the server.

    python benchmarks/app_server_latency.py [--codex PATH] [--requests 100000]

delta: one thread over stdio; the model sends 500 pieces, each with the time it left; the figure is
the time until the client has read it as a notification, the model's way through HTTP included.
flood: two WebSocket clients; one sends its requests without waiting, from a process of its own,
while the other asks every 5 ms and measures its answers. A ratio is ours divided by theirs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from app_server_client import FERRULE, SocketClient, StdioClient, places, stream_model

DELTA_TARGET_MS, FLOOD_TARGET_MS = 5.0, 50.0
PIECES, PAUSE_S = 500, 0.004


@dataclass
class Spread:
    """Milliseconds."""

    median: float
    p99: float
    worst: float
    note: str = ""

    @classmethod
    def of(cls, seconds: list[float], note: str = "") -> Spread:
        values = sorted(each * 1000 for each in seconds)
        p99 = values[min(len(values) - 1, round(len(values) * 0.99))]
        return cls(statistics.median(values), p99, values[-1], note)


async def delta(program: str) -> Spread:
    with stream_model(PIECES, PAUSE_S) as port, places(port) as (workspace, environ):
        client = await StdioClient.start([program, "app-server"], workspace, environ)
        try:
            started = await client.request("thread/start", {"cwd": str(workspace)})
            thread_id = started["thread"]["id"]
            await one_turn(client, thread_id)  # warms both sides
            return Spread.of(await one_turn(client, thread_id))
        finally:
            await client.stop()


async def one_turn(client: StdioClient, thread_id: str) -> list[float]:
    waits: list[float] = []
    done = asyncio.Event()

    def listen(message: dict) -> None:
        now = time.time_ns()
        if message["method"] == "item/agentMessage/delta":
            waits.extend((now - int(word)) / 1e9 for word in message["params"]["delta"].split())
        elif message["method"] == "turn/completed":
            done.set()

    client.listeners.append(listen)
    text = [{"type": "text", "text": "go"}]
    await client.request("turn/start", {"threadId": thread_id, "input": text})
    await asyncio.wait_for(done.wait(), 60)
    client.listeners.remove(listen)
    return waits


async def flood(program: str, requests: int) -> Spread:
    import socket

    with stream_model(1, 0) as port, places(port) as (workspace, environ):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            url = f"ws://127.0.0.1:{probe.getsockname()[1]}"
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        server = subprocess.Popen(  # noqa: ASYNC220 -- nothing else runs yet
            [program, "app-server", "--listen", url],
            cwd=workspace,
            env=environ,
            stderr=subprocess.DEVNULL,
            **quiet,
        )
        try:
            client = await SocketClient.connect(url)
            spread = await beside_flood(client, url, requests)
            await client.close()
            return spread
        finally:
            server.terminate()
            server.wait()


async def beside_flood(client: SocketClient, url: str, requests: int) -> Spread:
    argv = [sys.executable, __file__, "--flood", url, "--requests", str(requests)]
    other = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    waits: list[float] = []
    flooding = asyncio.create_task(other.communicate())
    refused = 0
    while not flooding.done():
        began = time.perf_counter()
        try:
            await asyncio.wait_for(client.request("thread/loaded/list", {}), 5)
        except (RuntimeError, TimeoutError):
            refused += 1
        waits.append(time.perf_counter() - began)
        await asyncio.sleep(0.005)
    said = json.loads((await flooding)[0])
    note = f"flood: {said['answered']} of {requests} answered in {said['seconds']:.1f} s"
    return Spread.of(waits, f"{note}; other: {refused} of {len(waits)} refused")


async def be_the_flood(url: str, requests: int) -> None:
    client = await SocketClient.connect(url)
    began = time.perf_counter()
    replies = [client.begin("thread/loaded/list", {}) for _ in range(requests)]
    last, answered = time.perf_counter(), -1
    while answered < requests and time.perf_counter() - last < 5:
        await asyncio.sleep(0.1)
        count = sum(reply.done() for reply in replies)
        if count > answered:
            answered, last = count, time.perf_counter()
    for reply in replies:
        if reply.done():
            reply.exception()
    print(json.dumps({"answered": answered, "seconds": last - began}))
    await client.close()


def row(name: str, case: str, spread: Spread, target: float) -> None:
    print(
        f"{case:7}{name:9}{spread.median:11.2f}{spread.p99:9.2f}{spread.worst:10.2f}"
        f"   ({target:.0f})  {spread.note}".rstrip()
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--codex", help="the Rust binary of npm @openai/codex")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--flood", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flood:
        await be_the_flood(options.flood, options.requests)
        return
    programs = {"ferrule": str(FERRULE)} | ({"codex": options.codex} if options.codex else {})
    print(f"{'case':7}{'server':9}{'median ms':>11}{'p99 ms':>9}{'worst ms':>10}   (target)")
    for name, program in programs.items():
        row(name, "delta", await delta(program), DELTA_TARGET_MS)
    for name, program in programs.items():
        row(name, "flood", await flood(program, options.requests), FLOOD_TARGET_MS)


if __name__ == "__main__":
    asyncio.run(main())
