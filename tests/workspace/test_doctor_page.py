"""The page about the doctor lists every check there is."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_checks_is_current():
    made = runpy.run_path(str(DOCS / "generate.py"))["doctor_page"]()

    assert (DOCS / "doctor.md").read_text("utf-8") == made, "run: python docs/generate.py doctor"
