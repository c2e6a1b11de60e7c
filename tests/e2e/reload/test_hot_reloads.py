"""Plugins that are edited over and over while sessions use them: nothing is lost, nothing stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "hot_reload.py"
GROWTH_MB = 16


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thousand_hot_reloads_under_load_lose_no_call_and_leave_no_module(tmp_path):
    arguments = ["--generations", "125", "--plugins", "8", "--sessions", "3", "--json"]

    finished = subprocess.run(
        [sys.executable, str(BENCHMARK), *arguments], capture_output=True, text=True, check=False
    )

    figures = json.loads(finished.stdout)
    assert figures["reloads"] == 1000
    assert figures["calls"] == figures["answered"] >= 1000
    assert figures["wrong"] == []
    assert figures["leaked"] == 0
    before, after = figures["memory_mb"]
    assert after - before <= GROWTH_MB
