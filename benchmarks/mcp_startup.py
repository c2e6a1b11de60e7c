"""How much later the first request leaves with ten slow MCP servers than with none.

    python benchmarks/mcp_startup.py [--runs 15] [--servers 10]

`ferrule exec` is run in turn with none, with servers that are remembered and hang, and with servers
that nobody ever saw answer (waited for once, in a round that is not counted). Measured is the time
from the start of the program to its first request at the model; the medians are of the same run.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ferrule_testkit.home import FerruleHome, make_home
from ferrule_testkit.model_items import message
from ferrule_testkit.model_server import ScriptedModelServer

SERVER = Path(__file__).parent.parent / "plugins" / "mcp" / "tests" / "servers" / "plain_server.py"
SCRIPT = [[message("done")]]
TARGET_MS = 50


def homes(folder: Path, url: str, count: int) -> dict[str, FerruleHome]:
    """Make the three homes; every server of the last two hangs while its gate is missing."""
    made: dict[str, FerruleHome] = {}
    for name in ("none", "remembered", "never seen"):
        home = made[name] = make_home(folder / name.replace(" ", "_"), url)
        servers = range(count if name != "none" else 0)
        gate = str(home.path / "gate")
        tables = [
            f'[mcp_servers.slow{number}]\ncommand = "{sys.executable}"\n'
            f'args = ["{SERVER}", "--gate", "{gate}"]\n'
            for number in servers
        ]
        patience = 60_000 if name == "remembered" else 500
        home.configure(top=f"mcp_optional_startup_grace_ms = {patience}", tables="\n".join(tables))
    gate = made["remembered"].path / "gate"
    gate.touch()
    run(made["remembered"])
    gate.unlink()
    return made


def run(home: FerruleHome) -> None:
    finished = home.run("exec", "--json", "go")
    assert finished.returncode == 0, finished.stderr


def first_request_ms(home: FerruleHome, server: ScriptedModelServer) -> float:
    before = len(server.requests)
    began = time.monotonic()
    subprocess.run(
        home.command(["exec", "--json", "go"]),
        cwd=home.workspace,
        env=home.environ,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return (server.requests[before].at - began) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--servers", type=int, default=10)
    options = parser.parse_args()
    with ScriptedModelServer(SCRIPT) as server, tempfile.TemporaryDirectory() as folder:
        made = homes(Path(folder), server.base_url, options.servers)
        seen: dict[str, list[float]] = {name: [] for name in made}
        for turn in range(options.runs + 1):
            for name, home in made.items():
                server.play(SCRIPT)
                figure = first_request_ms(home, server)
                if turn:
                    seen[name].append(figure)
    floor = statistics.median(seen["none"])
    print(f"{'servers':>12} {'median ms':>10} {'min':>8} {'later by':>9}   target ≤ {TARGET_MS} ms")
    for name, figures in seen.items():
        median = statistics.median(figures)
        print(f"{name:>12} {median:10.1f} {min(figures):8.1f} {median - floor:9.1f}")


if __name__ == "__main__":
    main()
