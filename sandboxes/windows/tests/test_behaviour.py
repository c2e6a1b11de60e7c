"""Open handles and jobs do in Wine what the backend takes for granted of them.

Wine is not Windows: what it refuses here Windows is documented to refuse, too, but only a real
machine can prove that. One fact is left out: Wine lets a folder above a held name be renamed.
"""

from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("behaviour.c")
OF_WINDOWS_ALONE = {"folder_of_a_held_one_cannot_be_renamed"}


@pytest.mark.slow
def test_wine_keeps_held_names_and_ends_jobs(measure, wine):
    printed = measure.run(measure.compiled(SOURCE, wine))
    facts = dict(line.split() for line in printed.splitlines())

    assert len(facts) == 23
    assert {fact for fact, is_so in facts.items() if is_so != "1"} <= OF_WINDOWS_ALONE
