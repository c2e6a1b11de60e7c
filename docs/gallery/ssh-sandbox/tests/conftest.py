"""A machine to log in to."""

import pytest

from ferrule_testkit.sshd import ssh_machine


@pytest.fixture(scope="session")
def machine():
    """A real sshd on this machine, with keys of its own."""
    with ssh_machine() as machine:
        yield machine
