"""Both tools do what the contract asks of every tool."""

from ferrule_shell.tools import ExecCommand, WriteStdin
from ferrule_testkit import ToolConformance


class TestExecCommand(ToolConformance):
    arguments = {"cmd": "echo hi; sleep 1000 > /dev/null 2>&1 & echo there", "login": False}

    def make(self, context):
        return ExecCommand(context)


class TestWriteStdin(ToolConformance):
    arguments = {"session_id": 1}
    needs = "it writes to a command that another tool has started"

    def make(self, context):
        return WriteStdin(context)
