"""Probes as parametrised tests, as authors of backends write them."""

import sys

import pytest

from ferrule_hookspecs.sandbox import Capabilities, Launch
from ferrule_testkit.certification import probe_cases, run_probe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


class Open:
    """A backend that confines nothing, and says what it is told to say."""

    name = "open"

    def __init__(self, *enforced):
        self.enforced = frozenset(enforced)

    def probe(self):
        return Capabilities(True, "", self.enforced)

    def prepare(self, policy, command):
        return Launch(command.argv, command.env, command.cwd)


@pytest.mark.parametrize("case", probe_cases("work.threads"), ids=str)
def test_what_works_passes(case, stage):
    run_probe(Open(), case, stage)


@pytest.mark.parametrize("case", probe_cases("files.create")[:1], ids=str)
def test_what_is_not_promised_is_skipped_and_what_is_promised_fails(case, stage):
    assert str(case) == "files.create-read-only"
    with pytest.raises(pytest.skip.Exception, match="unsupported"):
        run_probe(Open(), case, stage)
    with pytest.raises(pytest.fail.Exception, match="escaped"):
        run_probe(Open("filesystem"), case, stage)
