"""What plugin users and authors were promised is tried under the number it has."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "e2e/requirements"


@pytest.mark.parametrize("number", range(1, 27))
def test_every_requirement_has_a_test_of_its_name(number):
    files = list(FOLDER.glob(f"test_r{number:02}_*.py"))
    named = [
        name
        for file in files
        for name in re.findall(rf"def (test_r{number:02}_\w+)", file.read_text("utf-8"))
    ]

    assert files
    assert named
