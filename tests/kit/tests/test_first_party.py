"""Every hook module and every command of ours does what the contract asks of each."""

from importlib.metadata import entry_points

import pytest

from ferrule_testkit import CommandConformance, HooksConformance

COMMAND_GROUPS = ("ferrule.commands", "ferrule.sandbox_commands", "ferrule.plugin_commands")
OWN_COMMAND = "sandbox"  # a part of the kernel, which asks the host for more than plugins can


def ours(*groups):
    points = {
        f"{point.group}:{point.name}": point
        for group in groups
        for point in entry_points(group=group)
    }
    found = [
        point
        for point in points.values()
        if point.dist is not None
        and point.dist.name.startswith("ferrule")
        and point.name != OWN_COMMAND
    ]
    return pytest.mark.parametrize("point", found, ids=lambda point: point.name)


@ours("ferrule.plugins")
class TestHooks(HooksConformance):
    @pytest.fixture(autouse=True)
    def _module(self, point):
        self.point = point

    def make(self):
        return self.point.load()


@ours(*COMMAND_GROUPS)
class TestCommands(CommandConformance):
    @pytest.fixture(autouse=True)
    def _command(self, point):
        self.point = point

    def make(self):
        return self.point.load()
