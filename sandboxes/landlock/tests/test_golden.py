"""What the evaluator says is what Landlock does, but for what Landlock cannot do at all."""

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.evaluator import is_inside
from ferrule_testkit.access_table import (
    cases,
    compare,
    make_tree,
    random_tables,
    readable_tables,
    tables,
)
from ferrule_testkit.service_table import compare_services

TABLES = {table.name: make for make in (tables, readable_tables) for table in make("/")}


def enforceable(policy):
    """What is left of a policy without the gaps that Landlock declares.

    Nothing in a writable root is protected (`protected_paths`, `missing_names`), and so a root
    inside another one has no protection of its own either.
    """
    roots = {root.path for root in policy.writable_roots}
    outer = [
        root
        for root in policy.writable_roots
        if not any(is_inside(root.path, other) for other in roots - {root.path})
    ]
    bare = tuple(root._replace(read_only=(), forbidden=(), pinned=()) for root in outer)
    return policy._replace(writable_roots=bare)


def overlaps(policy):
    return any(
        is_inside(path, root.path) or is_inside(root.path, path)
        for path in policy.deny_read
        for root in policy.writable_roots
    )


@pytest.fixture
def check(place, python):
    """Try every case of the tree under a policy."""
    make_tree(place)

    def run(code, argument, policy):
        return _run(python, code, argument, policy)

    def check(policy):
        if overlaps(policy):
            with pytest.raises(PolicyUnenforceableError):
                run("", "", policy)
            return
        tried = cases(place)
        assert len(tried) > 250
        assert compare(enforceable(policy), tried, lambda *words: run(*words, policy)) == []

    return check


def _run(python, code, argument, policy):
    ended = python(code, argument, policy=policy)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_what_the_evaluator_says_of_services_outside_happens(place, policy, python, mode, network):
    paths = [f"{place}/{name}/service" for name in ("outside", "workspace")]
    asked = policy(mode, network=network)

    def run(code, argument):
        return _run(python, code, argument, asked)

    assert compare_services(asked, paths, run) == []


def test_a_socket_that_is_granted_stays_out_of_reach_like_all_others(place, policy, python):
    path = f"{place}/outside/service"
    asked = policy(unix_sockets=(path,))

    def run(code, argument):
        return _run(python, code, argument, asked)

    assert compare_services(asked._replace(unix_sockets=()), [path], run) == []


@pytest.mark.parametrize("name", TABLES)
def test_what_the_evaluator_says_happens(check, place, name):
    check(next(table.policy for table in TABLES[name](place) if table.name == name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_the_evaluator_says_of_random_policies_happens(check, place, seed):
    for table in random_tables(place, 20, seed):
        check(table.policy)
