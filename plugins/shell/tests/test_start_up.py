"""Offering the tools costs next to nothing; only calls load what calls need."""

from __future__ import annotations

import subprocess
import sys

LOADED_BY_CALLS = ("execution", "running", "terminals", "login", "reply", "actions", "quoting")


def test_offering_the_tools_loads_nothing_that_only_a_call_needs():
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ferrule_hookspecs.plugins import PluginContext\n"
        "from ferrule_shell.tools import ExecCommand, WriteStdin\n"
        "for tool in (ExecCommand, WriteStdin):\n"
        "    tool(PluginContext(Path('/'), {})).schema()\n"
        "print(*sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = set(run.stdout.split())
    assert loaded.isdisjoint(f"ferrule_shell.{name}" for name in LOADED_BY_CALLS)
    assert loaded.isdisjoint({"pydantic", "shutil", "secrets", "asyncio"})
