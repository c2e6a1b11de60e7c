"""The evaluator: what a policy says about an operation."""

import pytest

from ferrule_hookspecs.evaluator import decide
from ferrule_hookspecs.sandbox import ResolvedPolicy, WritableRoot


@pytest.fixture
def place(tmp_path):
    for name in ("workspace/kept", "outside", "secret"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def policy(place):
    workspace = place / "workspace"
    root = WritableRoot(
        str(workspace), (str(workspace / "kept"),), (str(workspace / "absent"),), ()
    )
    return ResolvedPolicy(
        "workspace-write", str(workspace), (root,), deny_read=(str(place / "secret"),)
    )


def test_the_workspace_may_be_written_and_everything_read(policy, place):
    assert decide(policy, "write", str(place / "workspace" / "deep" / "new")) is None
    assert decide(policy, "read", str(place / "outside" / "file")) is None


@pytest.mark.parametrize(
    "path",
    [
        "outside/new",
        "workspace/../outside/new",
        "workspace-sibling",
        "workspace/kept/file",
        "workspace/absent",
        "workspace/absent/deep",
        "secret/key",
    ],
)
def test_the_rest_may_not_be_written(policy, place, path):
    denial = decide(policy, "write", str(place / path))
    assert denial is not None
    assert denial.path is not None


@pytest.mark.parametrize("operation", ["read", "write"])
def test_denied_places_are_reached_under_no_name(policy, place, operation):
    (place / "workspace" / "door").symlink_to(place / "secret")
    denial = decide(policy, operation, str(place / "workspace" / "door" / "key"))
    assert denial is not None
    assert denial.kind == "read"


def test_a_link_out_of_the_workspace_may_not_be_written_through(policy, place):
    (place / "workspace" / "door").symlink_to(place / "outside")
    (place / "workspace" / "file").symlink_to(place / "outside" / "missing")
    assert decide(policy, "write", str(place / "workspace" / "door" / "new"))
    assert decide(policy, "write", str(place / "workspace" / "file"))


def test_a_link_back_into_the_workspace_may_be_written_through_but_not_replaced(policy, place):
    (place / "outside" / "door").symlink_to(place / "workspace" / "file")
    assert decide(policy, "write", str(place / "outside" / "door")) is None
    assert decide(policy, "remove", str(place / "outside" / "door"))


@pytest.mark.parametrize("operation", ["create", "remove", "rename"])
@pytest.mark.parametrize("name", ["workspace", "workspace/holder"])
def test_a_root_and_what_holds_something_protected_stay_where_they_are(place, operation, name):
    workspace = place / "workspace"
    root = WritableRoot(
        str(workspace), (str(workspace / "holder" / "kept"),), (), (str(workspace / "holder"),)
    )
    policy = ResolvedPolicy("workspace-write", str(workspace), (root,))
    assert decide(policy, operation, str(place / name))
    assert decide(policy, "write", str(place / name / "new")) is None


def test_protection_by_one_root_holds_in_all(place):
    """A root inside another one opens nothing that the outer one protects."""
    outer, inner = str(place / "workspace"), str(place / "workspace" / "kept")
    roots = (WritableRoot(outer, (inner,)), WritableRoot(inner))
    policy = ResolvedPolicy("workspace-write", outer, roots)
    assert decide(policy, "write", f"{inner}/file")


@pytest.mark.parametrize("network", [False, True])
def test_addresses_are_reached_with_the_network_and_services_never(place, network):
    policy = ResolvedPolicy("read-only", str(place), network=network)
    denial = decide(policy, "connect", "example.org:443")
    assert (denial is None) == network
    assert denial is None or denial.kind == "network"
    assert decide(policy, "connect_unix", "/run/docker.sock")


def test_read_only_refuses_every_write_and_says_why(place):
    denial = decide(ResolvedPolicy("read-only", str(place)), "write", str(place / "x"))
    assert denial is not None
    assert "read-only" in denial.reason


def test_no_sandbox_refuses_nothing():
    policy = ResolvedPolicy("danger-full-access", "/", network=True, unconfined=True)
    assert decide(policy, "write", "/etc/passwd") is None
