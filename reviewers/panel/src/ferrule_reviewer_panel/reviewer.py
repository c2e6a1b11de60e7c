"""The reviewer `panel`: has others decide, and combines what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_reviewer_panel.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import ReviewContext, ReviewOutcome, ReviewRequest
    from ferrule_reviewer_panel.algebra import Vote
    from ferrule_reviewer_panel.ballot import Ballot
    from ferrule_reviewer_panel.poll import Poll


class PanelReviewer:
    """Asks the members that a request calls for."""

    name = "panel"

    def __init__(self, context: PluginContext) -> None:
        self.name = context.name or self.name
        home = context.environ.get("HOME") or context.environ.get("USERPROFILE", "")
        self._settings = read_settings(self.name, context.settings, home)
        self.members = self._settings.members

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        """Ask every member of every plan that counts, and combine."""
        from anyio import create_task_group

        from ferrule_reviewer_panel.algebra import combine
        from ferrule_reviewer_panel.poll import Poll
        from ferrule_reviewer_panel.routing import plans_for

        polls = [Poll(plan, request, context) for plan in plans_for(self._settings, request)]
        async with create_task_group() as group:
            for poll in polls:
                group.start_soon(poll.take)
        ruling = combine("all_of", [poll.ruling for poll in polls])
        for poll in polls:
            if ruling.is_open:
                await poll.resolve()
                ruling = combine("all_of", [each.ruling for each in polls])
        return self._outcome(ruling, polls)

    def _outcome(self, ruling: Vote, polls: Sequence[Poll]) -> ReviewOutcome:
        from ferrule_reviewer_panel.ballot import summed

        ballots = [ballot for poll in polls for ballot in _heard(poll)]
        decisive = [ballot for poll in polls for ballot in _decisive(ruling, poll)]
        recorded = [ballot.record() for ballot in ballots]
        recorded += [
            {"reviewer": name, "decision": "notNeeded"} for poll in polls for name in poll.unheard
        ]
        decision = "decline" if ruling.is_open else ruling.stance
        outcome: dict[str, object] = {
            "decision": "acceptForSession" if ruling.for_session else decision,
            "reviewer": self.name,
            "reason": "; ".join(f"{one.reviewer}: {one.reason}" for one in decisive),
            "rule": " and ".join(poll.plan.label for poll in polls),
            "evidence": [ballot.line for ballot in ballots],
            "details": {"votes": recorded},
        }
        if usage := summed(ballots):
            outcome["details"] = {"votes": recorded, "usage": usage}
        if error_info := next((one.error_info for one in decisive if one.error_info), ""):
            outcome["errorInfo"] = error_info
        if ruling.is_open:
            outcome["escalates"] = True
        if ruling.amendment is not None:
            outcome["amendment"] = list(ruling.amendment)
        return cast("ReviewOutcome", outcome)


def _heard(poll: Poll) -> list[Ballot]:
    last = [] if poll.last_resort is None else [poll.last_resort]
    return [*poll.ballots, *last, *poll.shadows]


def _decisive(ruling: Vote, poll: Poll) -> list[Ballot]:
    """Those of a poll whose words explain the ruling."""
    if poll.last_resort is not None:
        return [poll.last_resort]
    if poll.plan.mode == "chain":
        return poll.ballots[-1:]
    if ruling.refuses:
        return [one for one in poll.ballots if one.vote.refuses]
    if ruling.is_open:
        return [one for one in poll.ballots if one.vote.is_open]
    return [one for one in poll.ballots if one.vote.stance == "accept"]
