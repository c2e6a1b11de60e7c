"""What the evaluator of policies says is what entries in access lists and containers mean.

They are read by a model of Windows: this proves what they say, not what Windows does with them.
"""

import pytest

from ferrule_hookspecs.evaluator import decide, is_inside
from ferrule_testkit.access_table import cases, make_tree, random_tables, tables

NAMES = [table.name for table in tables("/")]
SEEDS = [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 10))]


def holds_something(policy, path):
    """Whether a folder holds a name that is kept while a command runs: it keeps its own, too."""
    places = [root.path for root in policy.writable_roots]
    places += [
        each
        for root in policy.writable_roots
        for each in (*root.read_only, *root.forbidden, *root.pinned)
    ]
    return any(is_inside(place, path) for place in places)


def is_stricter(policy, case, denial):
    """The one way in which Windows refuses more."""
    is_about_a_name = case.operation in ("rename", "remove")
    return denial is None and is_about_a_name and holds_something(policy, case.path)


def differences(policy, tried, permits):
    return [
        (case, denial)
        for case in tried
        for denial in [decide(policy, case.operation, case.path)]
        if (denial is None) != permits(case) and not is_stricter(policy, case, denial)
    ]


@pytest.fixture
def tried(place):
    make_tree(place)
    found = cases(place)
    assert len(found) > 250
    return found


@pytest.fixture
def entries_differ(tried, order_of, launches, machine):
    """Where entries in access lists mean something else; they cannot keep anything unread."""

    def entries_differ(policy):
        order = order_of(policy)
        readable = policy._replace(deny_read=())
        found = differences(readable, tried, lambda case: machine.permits(order.sid, case))
        launches.pop().cleanup()
        return found

    return entries_differ


@pytest.fixture
def container_differs(tried, container_of, launches):
    def container_differs(policy):
        found = differences(policy, tried, container_of(policy).permits)
        launches.pop().cleanup()
        return found

    return container_differs


@pytest.mark.parametrize("name", NAMES)
def test_entries_mean_what_the_evaluator_says(entries_differ, place, name):
    policy = next(table.policy for table in tables(place) if table.name == name)

    assert entries_differ(policy._replace(deny_read=())) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_container_means_what_the_evaluator_says(container_differs, place, name):
    policy = next(table.policy for table in tables(place) if table.name == name)

    assert container_differs(policy) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_entries_of_random_policies_mean_what_the_evaluator_says(entries_differ, place, seed):
    for table in random_tables(place, 20, seed):
        assert entries_differ(table.policy._replace(deny_read=())) == [], table


@pytest.mark.parametrize("seed", SEEDS)
def test_containers_of_random_policies_mean_what_the_evaluator_says(container_differs, place, seed):
    for table in random_tables(place, 20, seed):
        assert container_differs(table.policy) == [], table
