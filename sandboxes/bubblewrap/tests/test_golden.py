"""What the evaluator of policies says is what bubblewrap does."""

import json
import os
import socket

import pytest

from ferrule_hookspecs.evaluator import decide
from ferrule_testkit.access_table import cases, compare, make_tree, random_tables, tables

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
def test_what_the_evaluator_says_happens(differences, place, name):
    policy = next(table.policy for table in tables(place) if table.name == name)

    assert differences(policy) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_what_the_evaluator_says_of_random_policies_happens(differences, place, seed):
    for table in random_tables(place, 20, seed):
        assert differences(table.policy) == [], table
