"""Files and functions stay small enough to be read in one go."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in ("hookspecs", "core", "plugins", "sandboxes", "reviewers", "tests/kit")
    for path in (ROOT / folder).glob("**/src/**/*.py")
)
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 600, 60, 8


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path):
    source = path.read_text()
    assert source.count("\n") <= MAX_FILE

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < MAX_FUNCTION, f"{node.name} is too long"


def test_the_kernel_can_be_read_in_one_sitting():
    lines = sum(
        1
        for path in (ROOT / "core/src").glob("**/*.py")
        for line in path.read_text().splitlines()
        if line.strip() and not line.strip().startswith("#")
    )

    assert lines < 9000, f"the kernel has {lines} lines of code and docstrings"
