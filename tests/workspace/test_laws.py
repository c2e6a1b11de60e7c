"""Laws that are tried on random examples, in every member's tests."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=2)
@given(st.booleans())
def test_an_example_may_take_longer_than_the_library_thinks(slow):
    if slow:
        time.sleep(0.3)
