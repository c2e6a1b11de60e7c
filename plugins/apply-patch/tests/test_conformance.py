"""The tool does what the contract asks of every tool."""

from ferrule_apply_patch.tool import ApplyPatch
from ferrule_testkit import ToolConformance


class TestApplyPatch(ToolConformance):
    text = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n"

    def make(self, context):
        return ApplyPatch(context)
