"""What people run every day works in every mode, but for what the documentation says."""

import pytest

from ferrule_testkit.everyday import failures

LOCAL_SOCKETS = {"own_local_server", "managers_of_processes"}
INTERNET = {"own_server", "own_server_ipv6", "own_datagrams"}
SHARED_MEMORY = {"pools_of_processes", "shared_memory"}


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_everyday_work_is_done_but_for_declared_exceptions(python, policy, mode, network):
    def run(code):
        return python(code, policy=policy(mode, network=network)).stdout

    exceptions = LOCAL_SOCKETS | (set() if network else INTERNET)
    exceptions |= SHARED_MEMORY if mode == "read-only" else set()
    assert failures(run).keys() == exceptions


def test_with_local_sockets_and_a_network_all_of_it_works(python, policy):
    def run(code):
        return python(code, policy=policy(network=True), local_sockets=True).stdout

    assert failures(run) == {}
