"""What people run every day works in every mode."""

import pytest

from ferrule_testkit.everyday import failures


@pytest.mark.parametrize("readable", [None, ()])
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("mode", ["read-only", "workspace-write"])
def test_everyday_work_is_done_in_every_mode(python, policy, mode, network, readable):
    asked = policy(mode, network=network, readable_roots=readable)

    def run(code):
        return python(code, policy=asked).stdout

    assert failures(run) == {}
