"""What a long task costs over many compactions, and what a provider's cache of prefixes serves.

A scripted model has 300 tools called over nine compactions. Each request is compared with the one
before, byte by byte from its beginning: what is the same is what a cache would serve. Run it with
`python benchmarks/compaction.py`; nothing but this machine is needed.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from ferrule_testkit.home import make_home
from ferrule_testkit.long_task import SETTINGS, LongTask, SharedBytes, is_checkpoint, shared_bytes
from ferrule_testkit.model_server import ScriptedModelServer

TASK: Final = LongTask(responses=100, window=11)
_OVERFLOW: Final = {"failed": {"code": "context_length_exceeded", "message": "x"}, "items": []}
_REFUSED: Final = {"status": 500, "body": {"error": {"message": "down"}}}
_NOTHING: Final[dict[str, Any]] = {"items": []}
FAULTS: Final[dict[str, list[object]]] = {
    "every compaction succeeds": [],
    "every second one overflows first": [_OVERFLOW],
    "every second one fails with HTTP 500": [_REFUSED],
    "every second one returns nothing": [_NOTHING],
}


class Row(NamedTuple):
    """One run of the task."""

    name: str
    shares: list[SharedBytes]
    compactions: int
    run_twice: int
    forgotten: int
    seconds: float


def main() -> int:
    """Run the task once for every fault and print the table."""
    rows = [measured(name, fault) for name, fault in FAULTS.items()]
    out = sys.stdout.write
    out(f"{TASK.responses * 3} calls in {TASK.responses} responses\n\n")
    out("| run | compactions | requests | cached, turns | cached, checkpoints")
    out(" | cached, first after a compaction | commands run twice | commands forgotten | s |\n")
    out("|---|---|---|---|---|---|---|---|---|\n")
    for row in rows:
        out(f"| {row.name} | {row.compactions} | {len(row.shares)} | {_cells(row.shares)}")
        out(f" | {row.run_twice} | {row.forgotten} | {row.seconds:.1f} |\n")
    return int(any(row.run_twice or row.forgotten for row in rows))


def measured(name: str, fault: list[object]) -> Row:
    """Run the task with checkpoints of which every second one has the fault first."""
    checkpoints: list[object] = []
    for number, summary in enumerate(TASK.summaries()):
        checkpoints += [*(fault if number % 2 else []), summary]
    with tempfile.TemporaryDirectory() as folder, ScriptedModelServer() as server:
        home = make_home(Path(folder), server.base_url)
        home.configure(top=SETTINGS, provider="request_max_retries = 0\nstream_max_retries = 0")
        server.play(TASK.script(checkpoints))
        done = home.run("exec", "--json", "Do all the steps.", timeout=500)
        if done.returncode:
            sys.exit(done.stderr)
        log = (home.workspace / "steps.log").read_text().split()
        bodies = [request.body for request in server.requests]
    events = [item for item in done.items("context_compaction") if "error" not in item]
    twice = len(log) - len(set(log))
    shares = list(shared_bytes(bodies))
    return Row(name, shares, len(events), twice, _forgotten(bodies), done.seconds)


def _forgotten(bodies: list[dict[str, Any]]) -> int:
    """Count the commands that neither the history of the last request nor its ledger names."""
    last = str(next(body["input"] for body in reversed(bodies) if not is_checkpoint(body)))
    return sum(command not in last for command in TASK.commands)


def _cells(shares: list[SharedBytes]) -> str:
    after = [now for before, now in pairwise(shares) if before.is_checkpoint]
    turns = [each for each in shares[1:] if not each.is_checkpoint and each not in after]
    checkpoints = [each for each in shares if each.is_checkpoint]
    return " | ".join(_percent(group) for group in (turns, checkpoints, after))


def _percent(group: list[SharedBytes]) -> str:
    total = sum(each.total for each in group)
    return f"{100 * sum(each.shared for each in group) / total:.1f} %" if total else "none"


if __name__ == "__main__":
    sys.exit(main())
