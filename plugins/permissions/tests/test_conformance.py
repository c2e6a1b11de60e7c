"""The tool does what the contract asks of every tool."""

from ferrule_permissions.tool import RequestPermissions
from ferrule_testkit import ToolConformance


class TestRequestPermissions(ToolConformance):
    arguments = {"permissions": {"network": {"enabled": True}}, "reason": "to fetch"}
    wrong = [{"permissions": {"network": {"enabled": True}}, "reason": 7}]

    def make(self, context):
        return RequestPermissions(context)
