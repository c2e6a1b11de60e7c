"""What the evaluator says is what Landlock does, but for what Landlock cannot do at all."""

import json
import os
import socket

import pytest

from ferrule_hookspecs.errors import PolicyUnenforceableError
from ferrule_hookspecs.evaluator import decide, is_inside
from ferrule_testkit.access_table import cases, compare, make_tree, random_tables, tables

NAMES = [table.name for table in tables("/")]


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
        ended = python(code, argument, policy=policy)
        assert ended.returncode == 0, ended.stdout
        return ended.stdout

    def check(policy):
        if overlaps(policy):
            with pytest.raises(PolicyUnenforceableError):
                run("", "", policy)
            return
        tried = cases(place)
        assert len(tried) > 250
        assert compare(enforceable(policy), tried, lambda *words: run(*words, policy)) == []

    return check


CONNECT = """
import json, socket, sys
def ends(family, address):
    try:
        socket.socket(family).connect(address)
    except OSError as error:
        return error.strerror
port, *paths = json.loads(sys.argv[1])
found = [ends(socket.AF_INET, ("127.0.0.1", port))]
print(json.dumps(found + [ends(socket.AF_UNIX, path) for path in paths]))
"""


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_what_the_evaluator_says_of_services_outside_happens(place, policy, python, mode, network):
    paths = [f"{place}/{name}/service" for name in ("outside", "workspace")]
    asked = policy(mode, network=network)
    listeners = [socket.create_server(("127.0.0.1", 0))]
    for path in paths:
        listeners.append(socket.socket(socket.AF_UNIX))
        listeners[-1].bind(path)
        os.chmod(path, 0o777)  # so that only the sandbox refuses
        listeners[-1].listen()
    port = listeners[0].getsockname()[1]

    ended = python(CONNECT, json.dumps([port, *paths]), policy=asked)
    for each in listeners:
        each.close()

    says = [decide(asked, "connect", f"127.0.0.1:{port}")]
    says += [decide(asked, "connect_unix", path) for path in paths]
    errors = json.loads(ended.stdout)
    assert [denial is None for denial in says] == [error is None for error in errors], errors


@pytest.mark.parametrize("name", NAMES)
def test_what_the_evaluator_says_happens(check, place, name):
    check(next(table.policy for table in tables(place) if table.name == name))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_the_evaluator_says_of_random_policies_happens(check, place, seed):
    for table in random_tables(place, 20, seed):
        check(table.policy)
