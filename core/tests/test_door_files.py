"""What the door of a command adds to its policy: files it needs, and files it must not read."""

from types import SimpleNamespace

import pytest

from ferrule.way_out import policy_at
from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.sandbox import Door, ResolvedPolicy

BUNDLE, KEY = "/home/u/.ferrule/network/bundle.pem", "/home/u/.ferrule/network/ca.key"


@pytest.fixture
def opened():
    return SimpleNamespace(
        door=Door(1, lambda _: None, readable=(BUNDLE,), unreadable=(KEY,)), environment={}
    )


@pytest.mark.parametrize("roots", [None, ("/usr",), ("/usr", "/home/u")])
def test_a_command_reads_what_its_door_names_and_not_what_it_keeps(opened, roots):
    policy = policy_at(ResolvedPolicy("read-only", "/work", readable_roots=roots), opened)

    assert decide(policy, "read", BUNDLE) is None
    assert decide(policy, "read", KEY) is not None
