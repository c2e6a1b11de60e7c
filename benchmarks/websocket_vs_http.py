"""Compares `ferrule exec` over a WebSocket with the same over HTTP: 100 tool calls, one by one.

    python benchmarks/websocket_vs_http.py [--runs 5] [--calls 100]

Both run alternately against one local model server. Bytes are those of the requests' bodies; on
this machine they travel for nothing, so the wall time shows what the transports themselves cost.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ferrule_testkit.home import FerruleHome, make_home
from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.model_server import ScriptedModelServer

COMMAND = "seq 1 400"  # 1.5 kB
WAYS = {"http": "", "websocket": "supports_websockets = true"}


@dataclass
class Figures:
    sent: int = 0
    largest: int = 0
    connections: int = 0
    walls: list[float] = field(default_factory=list[float])

    @property
    def wall(self) -> float:
        return statistics.median(self.walls)


def conversation(calls: int) -> list:
    asked = [function_call("exec_command", {"cmd": COMMAND}, call_id=f"c{n}") for n in range(calls)]
    return [*([call] for call in asked), [message("done")]]


def measure(folder: Path, way: str, calls: int, figures: Figures) -> None:
    with ScriptedModelServer(conversation(calls)) as server:
        home: FerruleHome = make_home(folder, server.base_url)
        home.configure(provider=WAYS[way])
        run = home.run("exec", "--json", "do it", timeout=600)
        if run.returncode or len(run.items("command_execution")) != calls:
            sys.exit(f"{way}: the run failed:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        bodies = [len(request.raw) for request in server.requests + server.messages]
        figures.connections = len({r.connection for r in server.requests + server.messages})
    figures.sent, figures.largest = sum(bodies), max(bodies[1:])
    figures.walls.append(run.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare WebSocket and HTTP.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    found = {way: Figures() for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.runs + 1):
            for way, figures in found.items():
                measure(Path(folder) / f"{way}{number}", way, options.calls, figures)
                if number == 0:
                    figures.walls.clear()  # the first round warms caches
    print_table(found)


def print_table(found: dict[str, Figures]) -> None:
    write = sys.stdout.write
    write("way          sent kB   largest request kB   connections   wall s   min\n")
    for way, each in found.items():
        write(
            f"{way:<12} {each.sent / 1000:7.0f}   {each.largest / 1000:18.1f}   "
            f"{each.connections:11}   {each.wall:6.2f}   {min(each.walls):5.2f}\n"
        )
    http, websocket = found["http"], found["websocket"]
    write(
        f"ratio        {websocket.sent / http.sent:7.3f}   "
        f"{websocket.largest / http.largest:18.3f}   {'':11}   {websocket.wall / http.wall:6.2f}\n"
    )


if __name__ == "__main__":
    main()
