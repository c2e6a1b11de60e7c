"""What the evaluator of policies says is what bubblewrap does."""

import pytest

from ferrule_testkit.access_table import cases, compare, make_tree, random_tables, tables
from ferrule_testkit.service_table import compare_services

NAMES = [table.name for table in tables("/")]


@pytest.fixture
def differences(place, python):
    """Try every case of the tree under a policy."""
    make_tree(place)

    def differences(policy):
        tried = [case for case in cases(place) if not is_put_back(policy, case)]
        assert len(tried) > 250
        return compare(policy, tried, lambda code, argument: _run(python, code, argument, policy))

    return differences


def _run(python, code, argument, policy):
    ended = python(code, argument, policy=policy)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def is_put_back(policy, case):
    """Whether a case replaces a protected link, which is undone after the run, not refused."""
    links = {path for root in policy.writable_roots for path in root.read_only}
    return case.path in links and case.path.endswith("to-hooks") and case.operation != "write"


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_what_the_evaluator_says_of_services_outside_happens(place, policy, python, mode, network):
    paths = [f"{place}/{name}/service" for name in ("outside", "workspace")]
    asked = policy(mode, network=network)

    def run(code, argument):
        return _run(python, code, argument, asked)

    assert compare_services(asked, paths, run) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_the_evaluator_says_happens(differences, place, name):
    policy = next(table.policy for table in tables(place) if table.name == name)

    assert differences(policy) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_the_evaluator_says_of_random_policies_happens(differences, place, seed):
    for table in random_tables(place, 20, seed):
        assert differences(table.policy) == [], table
