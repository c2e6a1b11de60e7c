"""Accepts what says please."""

from ferrule_hookspecs import PluginContext, ReviewContext, ReviewOutcome, ReviewRequest


class AcmeReviewer:
    name = "acme"

    def __init__(self, context: PluginContext) -> None:
        self.context = context

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        polite = "please" in request.call.text
        return {
            "decision": "accept" if polite else "decline",
            "reviewer": "acme",
            "reason": "it was asked nicely" if polite else "it was not asked nicely",
        }
