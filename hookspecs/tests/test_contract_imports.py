"""What a plugin pays for importing the contract."""

from __future__ import annotations

import subprocess
import sys

import ferrule_hookspecs

HEAVY = ["pydantic", "typer", "httpx", "stevedore", "anyio", "asyncio", "importlib.metadata"]


def test_every_public_name_is_there():
    assert all(getattr(ferrule_hookspecs, name) is not None for name in ferrule_hookspecs.__all__)


def test_the_contract_imports_nothing_heavy():
    code = (
        "import sys, ferrule_hookspecs as f\n"
        "[getattr(f, name) for name in f.__all__]\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stdout == "[]\n"
