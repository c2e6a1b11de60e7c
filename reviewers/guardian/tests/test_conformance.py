"""The reviewer does what the contract asks of every reviewer, whatever its model says."""

import json

from ferrule_reviewer_guardian.reviewer import GuardianReviewer
from ferrule_testkit import ReviewerConformance


def verdict(outcome):
    levels = {"risk_level": "low", "user_authorization": "high"}
    return json.dumps({**levels, "outcome": outcome, "rationale": "it is a test"})


class Reviewed(ReviewerConformance):
    is_found_by = "auto_review"

    def make(self, context):
        return GuardianReviewer(context)


class TestAModelThatAllows(Reviewed):
    model_says = verdict("allow")


class TestAModelThatDenies(Reviewed):
    model_says = verdict("deny")
