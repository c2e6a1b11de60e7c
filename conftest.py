"""Options of the whole test suite."""

import gc
import os
import sys
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch for tests that take long."""
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for or cannot run here."""
    for item in items:
        if "slow" in item.keywords and not config.getoption("--run-slow"):
            item.add_marker(pytest.mark.skip(reason="slow: give --run-slow"))
        if "root" in item.keywords and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs to be root"))


def pytest_runtest_teardown() -> None:
    """Have what a failed test left open be found now, and be its own fault.

    Its traceback, which is kept until the next test, keeps all that; it would be found in the
    course of that one, or of any other.
    """
    if sys.__dict__.pop("last_value", None) is not None:
        sys.__dict__.pop("last_traceback", None)
        gc.collect()


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Let no law fail because the machine stood still: how long an example takes says nothing."""
    if "hypothesis" in module_path.read_text(encoding="utf-8"):
        from hypothesis import settings  # slow to import, and most files need none

        settings.register_profile("patient", deadline=None)
        settings.load_profile("patient")
