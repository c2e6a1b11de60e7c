"""What the evaluator of policies says is what bubblewrap does."""

import pytest

from ferrule_testkit.access_table import (
    cases,
    compare,
    leads_through_hidden,
    make_tree,
    random_tables,
    readable_tables,
    tables,
)
from ferrule_testkit.service_table import compare_services

TABLES = {table.name: make for make in (tables, readable_tables) for table in make("/")}


@pytest.fixture
def differences(place, python):
    """Try every case of the tree under a policy."""
    make_tree(place)

    def differences(policy):
        tried = [
            case
            for case in cases(place)
            if not is_put_back(policy, case)
            and not (policy.readable_roots is not None and leads_through_hidden(policy, case))
        ]
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


@pytest.mark.parametrize("readable", [None, (), ("outside",)])
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("granted", ["outside/service", "outside/kept/service"])
def test_sockets_that_are_granted_are_the_only_ones_in_reach(
    place, policy, python, granted, network, readable
):
    (place / "outside" / "kept").mkdir(mode=0o755)
    names = ("outside/service", "outside/kept/service", "outside/kept/other", "workspace/service")
    asked = policy(
        network=network,
        deny_read=(f"{place}/outside/kept",),
        unix_sockets=(f"{place}/{granted}",),
        readable_roots=readable and tuple(f"{place}/{name}" for name in readable),
    )

    def run(code, argument):
        return _run(python, code, argument, asked)

    assert compare_services(asked, [f"{place}/{name}" for name in names], run) == []


@pytest.mark.parametrize("name", TABLES)
def test_what_the_evaluator_says_happens(differences, place, name):
    policy = next(table.policy for table in TABLES[name](place) if table.name == name)

    assert differences(policy) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_the_evaluator_says_of_random_policies_happens(differences, place, seed):
    for table in random_tables(place, 20, seed):
        assert differences(table.policy) == [], table
