"""The five tools do what the contract asks of every tool."""

from ferrule_agents.tools import CloseAgent, ResumeAgent, SendInput, SpawnAgent, WaitAgent
from ferrule_testkit import ToolConformance

NEEDS = "agents are threads of a kernel"


class TestSpawnAgent(ToolConformance):
    arguments = {"message": "Count the files."}
    needs = NEEDS

    def make(self, context):
        return SpawnAgent(context)


class TestSendInput(ToolConformance):
    arguments = {"target": "a", "message": "More."}
    needs = NEEDS

    def make(self, context):
        return SendInput(context)


class TestWaitAgent(ToolConformance):
    arguments = {"targets": ["a"]}
    needs = NEEDS

    def make(self, context):
        return WaitAgent(context)


class TestCloseAgent(ToolConformance):
    arguments = {"target": "a"}
    needs = NEEDS

    def make(self, context):
        return CloseAgent(context)


class TestResumeAgent(ToolConformance):
    arguments = {"id": "a"}
    needs = NEEDS

    def make(self, context):
        return ResumeAgent(context)
