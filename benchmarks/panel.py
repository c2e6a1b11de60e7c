"""Measures what a panel of three reviewers adds to its slowest member.

    python benchmarks/panel.py [--runs 30] [--slowest-ms 100]

Three reviewers inside of this process take 1/4, 1/2 and all of the given time and accept; the panel
asks them under each mode that asks at once. What is printed is the panel's time beyond that of its
slowest member, as the member itself measured it in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import anyio

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_panel.reviewer import PanelReviewer

TARGET_MS = 20
MODES = {"all_of": {}, "veto": {}, "k_of_n": {"k": 3}}
CALL = ToolCall("call_1", "exec_command", {"cmd": "make"}, '{"cmd": "make"}', "function")
REQUEST = ReviewRequest("thread", "turn", CALL, None, "it writes outside", "/work")


class Slow:
    def __init__(self, seconds: float) -> None:
        self.seconds, self.took = seconds, 0.0

    async def review(self, request: ReviewRequest, context: ReviewContext) -> dict:
        started = time.perf_counter()
        await anyio.sleep(self.seconds)
        self.took = time.perf_counter() - started
        return {"decision": "accept", "reviewer": "slow", "reason": "measured"}


async def overhead(settings: dict, slowest: float) -> float:
    """How long a panel takes beyond its slowest member, in ms."""
    members = {name: Slow(slowest * part) for name, part in zip("abc", (0.25, 0.5, 1), strict=True)}
    settings = {"members": list(members), **settings}
    panel = PanelReviewer(PluginContext(Path("/"), {}, settings=settings))
    started = time.perf_counter()
    outcome = await panel.review(REQUEST, ReviewContext(reviewer=members.__getitem__))
    took = time.perf_counter() - started
    assert outcome["decision"] == "accept", outcome
    return (took - max(member.took for member in members.values())) * 1000


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--slowest-ms", type=float, default=100)
    arguments = parser.parse_args()
    print(
        f"panel of three, slowest {arguments.slowest_ms:g} ms, {arguments.runs} runs; ms beyond it"
    )
    print(f"{'mode':8} {'median':>8} {'worst':>8} {'target':>8}")
    for mode, more in MODES.items():
        settings = {"mode": mode, **more}
        await overhead(settings, 0.001)
        times = [
            await overhead(settings, arguments.slowest_ms / 1000) for _ in range(arguments.runs)
        ]
        print(f"{mode:8} {statistics.median(times):8.2f} {max(times):8.2f} {TARGET_MS:>8}")


if __name__ == "__main__":
    anyio.run(main)
