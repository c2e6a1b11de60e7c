"""The tool does what the contract asks of every tool."""

from ferrule_testkit import ToolConformance
from ferrule_web_search.tool import WebSearch


class TestWebSearch(ToolConformance):
    needs = "the model's provider runs it"

    def make(self, context):
        return WebSearch(context)
