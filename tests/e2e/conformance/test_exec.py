"""`ferrule exec` against 155 recorded runs: events, exit codes, resulting files, leftovers.

`differences.toml` lists what differs on purpose and what waits for another issue. The list is
exact: a difference that is not listed fails, and so does a listed one that no longer occurs.
"""

from __future__ import annotations

import pytest


def test_every_listed_scenario_is_recorded(conformance):
    assert set(conformance.listed["scenario"]) <= set(conformance.scenarios)
    assert set(conformance.listed["slow"]) <= set(conformance.scenarios)


@pytest.mark.timeout(600)
def test_scenario_equals_the_recorded_one(conformance, scenario):
    expected = conformance.expectation(scenario)
    found = conformance.run(scenario)
    if expected.pending is not None:
        assert found, f"{scenario} passes: remove it from the list of pending ones"
        pytest.xfail(f"waits for issue {expected.pending}")
    complaints = expected.unmet(found)
    assert not complaints, "\n".join([scenario, *complaints])


def test_every_difference_has_a_reason(conformance):
    entries = [
        *conformance.listed["everywhere"],
        *conformance.listed["asks_for"],
        *conformance.listed["settings"],
        *(
            each
            for entry in conformance.listed["scenario"].values()
            for each in [*entry.get("difference", []), *entry.get("alike", [])]
        ),
    ]
    assert all(entry["reason"].strip() for entry in entries)
