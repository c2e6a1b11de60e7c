"""The reviewer does what the contract asks of every reviewer, with a client that declines."""

from ferrule_reviewer_user.reviewer import UserReviewer
from ferrule_testkit import ReviewerConformance


class TestUserReviewer(ReviewerConformance):
    def make(self, context):
        return UserReviewer(context)
