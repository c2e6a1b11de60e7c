"""The three tools do what the contract asks of every tool."""

from ferrule_goals.tools import CreateGoal, GetGoal, UpdateGoal
from ferrule_testkit import ToolConformance

NEEDS = "a goal belongs to a session of a kernel"


class TestCreateGoal(ToolConformance):
    arguments = {"objective": "all tests pass"}
    needs = NEEDS

    def make(self, context):
        return CreateGoal(context)


class TestGetGoal(ToolConformance):
    needs = NEEDS

    def make(self, context):
        return GetGoal(context)


class TestUpdateGoal(ToolConformance):
    arguments = {"status": "complete"}
    needs = NEEDS

    def make(self, context):
        return UpdateGoal(context)
