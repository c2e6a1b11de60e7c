"""The reference is what the code says."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_the_reference_is_up_to_date():
    made = runpy.run_path(str(DOCS / "generate.py"))["sdk_page"]()

    assert (DOCS / "sdk-reference.md").read_text("utf-8") == made, "run: docs/generate.py sdk"
