"""The reviewer does what the contract asks of every reviewer, whatever its members say."""

from ferrule_reviewer_panel.reviewer import PanelReviewer
from ferrule_testkit import ReviewerConformance


class Panel(ReviewerConformance):
    def make(self, context):
        return PanelReviewer(context)


class TestAllOf(Panel):
    settings = {"members": ["first", "second"], "mode": "all_of"}


class TestAChain(Panel):
    settings = {"members": ["first", "second"], "mode": "chain"}
