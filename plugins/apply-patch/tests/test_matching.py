"""Where lines of a patch are found, in small files and in very large ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule_apply_patch.matcher import Haystack

LINES = st.lists(st.sampled_from(["a", "b", " a", "a ", "", "“a”", '"a"']), min_size=1, max_size=8)


@given(LINES, LINES, st.integers(0, 8))
def test_an_exact_match_is_the_first_one_a_plain_search_finds(lines, needle, start):
    expected = next(
        (i for i in range(start, len(lines)) if lines[i : i + len(needle)] == needle), None
    )
    found = Haystack(lines).find(needle, start)
    assert found == expected or (expected is None and found is not None)


@given(LINES, LINES)
def test_a_match_never_lies_outside_the_file(lines, needle):
    found = Haystack(lines).find(needle, 0, at_end=True)
    assert found is None or found == len(lines) - len(needle)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("a \t", "a"), ("\ta", "a"), ("“q” – it’s", '"q" - it\'s'), ("a\u00a0b", "a b")],
    ids=["trailing", "leading", "typographic", "no-break space"],
)
def test_a_careless_line_is_found(line, wanted):
    assert Haystack(["x", line, "y"]).find([wanted], 0) == 1


def test_a_strict_match_further_down_beats_a_careless_one_above():
    assert Haystack(["a ", "a"]).find(["a"], 0) == 1


def test_matches_begin_at_or_after_the_start():
    assert Haystack(["a", "b", "a"]).find(["a"], 1) == 2
    assert Haystack(["a"]).find(["a"], 1) is None
    assert Haystack(["a", "b"]).find(["a", "b"], 1, at_end=True) is None


@pytest.mark.parametrize("line", ["same", "line {}"], ids=["all alike", "all different"])
def test_time_grows_with_the_file_and_not_with_its_square(line):
    def seconds(count):
        lines = [line.format(number) for number in range(count)]
        needle = [*lines[-1_000:], "missing"]
        started = time.perf_counter()
        assert Haystack(lines).find(needle, 0) is None
        return time.perf_counter() - started

    small = min(seconds(10_000) for _ in range(3))
    assert min(seconds(100_000) for _ in range(3)) < 60 * small
