"""`ferrule app-server` against recorded conversations: the same messages in the same order.

`differences.toml` lists what differs on purpose and what waits for another issue. The list is
exact: a difference that is not listed fails, and so does a listed one that no longer occurs, or
not as often.
Every message of ours is checked against the published schema on the way.
"""

from __future__ import annotations

import pytest


def test_every_listed_scenario_is_recorded(recorded):
    assert set(recorded.listed["scenario"]) <= set(recorded.scenarios)
    assert set(recorded.listed["over_websocket"]) <= set(recorded.scenarios)


@pytest.mark.timeout(600)
def test_conversation_equals_the_recorded_one(recorded, scenario):
    outcome = recorded.run(scenario)
    pending = recorded.pending(scenario)
    if pending is not None:
        assert outcome.faults or recorded.complaints(scenario, outcome.differences)
        pytest.xfail(f"waits for issue {pending}")
    complaints = [*outcome.faults, *recorded.complaints(scenario, outcome.differences)]
    assert not complaints, "\n".join([scenario, *complaints])


def test_every_difference_has_a_reason(recorded):
    entries = [
        *recorded.listed["everywhere"],
        *recorded.listed["asks_for"],
        *(
            each
            for entry in recorded.listed["scenario"].values()
            for each in [*entry.get("difference", []), *entry.get("timing", [])]
        ),
    ]
    assert all(entry["reason"].strip() for entry in entries)
