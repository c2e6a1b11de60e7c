"""The tool does what the contract asks of every tool."""

from ferrule_testkit import ToolConformance
from ferrule_tool_search.tool import ToolSearch


class TestToolSearch(ToolConformance):
    arguments = {"query": "tickets"}

    def make(self, context):
        return ToolSearch(context)
