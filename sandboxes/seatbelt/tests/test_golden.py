"""What the evaluator of policies says is what the profile means.

The profile is read by a reader of our own: this proves what it says, not what macOS does with it.
"""

import pytest

from ferrule_hookspecs.evaluator import decide, is_inside
from ferrule_testkit.access_table import cases, make_tree, random_tables, tables

NAMES = [table.name for table in tables("/")]


def holds_something(policy, path):
    """Whether a folder holds what is protected or unreadable: it must keep its name."""
    roots = policy.writable_roots
    places = [*policy.deny_read, *(root.path for root in roots)]
    places += [each for root in roots for each in (*root.read_only, *root.forbidden, *root.pinned)]
    return any(is_inside(place, path) for place in places)


@pytest.fixture
def differences(place, profile):
    make_tree(place)
    tried = cases(place)
    assert len(tried) > 250

    def differences(policy):
        read = profile(policy)
        return [
            (case, denial)
            for case in tried
            for denial in [decide(policy, case.operation, case.path)]
            if (denial is None) != read.permits(case) and not is_stricter(policy, case, denial)
        ]

    return differences


def is_stricter(policy, case, denial):
    """The one way in which the profile refuses more."""
    is_about_a_name = case.operation in ("rename", "remove")
    return denial is None and is_about_a_name and holds_something(policy, case.path)


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_means_what_the_evaluator_says(differences, place, name):
    policy = next(table.policy for table in tables(place) if table.name == name)

    assert differences(policy) == []


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))]
)
def test_the_profile_of_random_policies_means_what_the_evaluator_says(differences, place, seed):
    for table in random_tables(place, 20, seed):
        assert differences(table.policy) == [], table
