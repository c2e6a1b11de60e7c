"""Files and functions stay small enough to be read in one go."""

import ast
import re
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


def test_the_ten_files_that_explain_the_kernel_are_read_in_one_sitting():
    readme = (ROOT / "core/README.md").read_text()
    files = re.findall(r"^\d+\. `(\S+\.py)`", readme, re.MULTILINE)

    assert len(files) == 10
    assert sum((ROOT / "core" / name).read_text().count("\n") for name in files) <= 3000
