"""The workspace these tests look at."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def workspace() -> Path:
    """The root of the workspace; tests that need it are skipped elsewhere."""
    if not (ROOT / "docs" / "generate.py").is_file():
        pytest.skip("not in the workspace")
    return ROOT


@pytest.fixture(scope="session")
def generate(workspace: Path) -> ModuleType:
    """The script that writes the generated files."""
    spec = importlib.util.spec_from_file_location("generate", workspace / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
