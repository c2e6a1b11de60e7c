"""The probes as a whole: enough of them, each with a claim, and each with somebody to make it."""

import importlib
import json
from collections import Counter

import pytest

from ferrule_certify.catalog import PROBES, picked
from ferrule_certify.inside.attempt import ATTEMPTS
from ferrule_certify.probe import MODES
from ferrule_hookspecs.errors import FerruleError


def test_there_are_many_probes_of_both_kinds():
    kinds = Counter(probe.kind for probe in PROBES)
    assert kinds["confinement"] >= 120
    assert kinds["function"] >= 60


def test_every_probe_has_a_name_of_its_own_and_a_claim_in_one_sentence():
    assert len({probe.id for probe in PROBES}) == len(PROBES)
    assert len({probe.claim for probe in PROBES}) == len(PROBES)
    for probe in PROBES:
        assert probe.claim.endswith("."), probe
        assert set(probe.modes) <= set(MODES), probe
        assert probe.modes, probe


def test_every_probe_is_made_by_somebody_and_no_attempt_is_forgotten():
    within = [probe for probe in PROBES if probe.driver is None]
    for probe in within:
        module = f"ferrule_certify.inside.{probe.module}"
        importlib.import_module(module)
        assert ATTEMPTS[probe.id].__module__ == module
    assert set(ATTEMPTS) == {probe.id for probe in within}


@pytest.mark.parametrize("group", ["files", "protected", "missing", "secrets", "processes"])
def test_probes_are_picked_by_pattern(group):
    found = picked([f"{group}.*"])
    assert found
    assert all(probe.id.startswith(f"{group}.") for probe in found)


def test_a_probe_that_is_not_there_is_told():
    with pytest.raises(FerruleError, match=r"no probe is called .files\.nonsense"):
        picked(["files.nonsense"])


def test_the_list_is_shown_without_running_anything(sandbox):
    rows = json.loads(sandbox("certify", "--list", "--json").output)
    assert [row["id"] for row in rows] == [probe.id for probe in PROBES]
    table = sandbox("certify", "--list", "--probe", "network.tcp").output
    assert "A TCP server on the machine's loopback address is out of reach." in table
