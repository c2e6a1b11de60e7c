"""Asks the members of one plan, at once where the mode allows it, and stops when it is settled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError, PluginError
from ferrule_reviewer_panel.algebra import DECLINE, Vote, combine, is_settled
from ferrule_reviewer_panel.ballot import Ballot, read_ballot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.events import ServerRequest
    from ferrule_hookspecs.review import ReviewContext, Reviewer, ReviewRequest
    from ferrule_reviewer_panel.settings import Plan

_DEFAULT_DEADLINE_S: Final = 120.0


class Poll:
    """One plan and what its members said."""

    def __init__(self, plan: Plan, request: ReviewRequest, context: ReviewContext) -> None:
        self.plan = plan
        self._request = request
        self._context = context
        self._heard: dict[str, Ballot] = {}
        self.ruling = DECLINE
        self.shadows: list[Ballot] = []
        self.last_resort: Ballot | None = None

    @property
    def ballots(self) -> list[Ballot]:
        """What members said, in their order; those that were not needed are absent."""
        return [self._heard[name] for name in self.plan.members if name in self._heard]

    @property
    def unheard(self) -> list[str]:
        """Members whose answer was not needed."""
        return [name for name in self.plan.members if name not in self._heard]

    async def take(self) -> None:
        """Ask everybody; shadows are waited for, as what they say is to be recorded."""
        from anyio import create_task_group

        async with create_task_group() as group:
            for name in self.plan.shadow:
                group.start_soon(self._shadow, name)
            if self.plan.mode == "chain":
                await self._one_by_one()
            else:
                await self._at_once()
        votes = [ballot.vote for ballot in self.ballots]
        self.ruling = combine(self.plan.mode, votes, self.plan.k)

    async def resolve(self) -> None:
        """Have what the members left open decided by whom the plan names."""
        if not self.ruling.is_open:
            return
        name = "user" if self.ruling.stance == "unknown" else self.plan.on_escalate
        if name == "decline":
            self.ruling = DECLINE
        elif name:
            said = "; ".join(f"{one.reviewer}: {one.words}: {one.reason}" for one in self.ballots)
            self._request = self._request._replace(reason=f"{self._request.reason} ({said})")
            self.last_resort = await self._ask(name, self._context, failure=DECLINE)
            self.ruling = self.last_resort.vote

    async def _one_by_one(self) -> None:
        for name in self.plan.members:
            await self._hear(name)
            if self._is_settled():
                return

    async def _at_once(self) -> None:
        from anyio import create_task_group

        async with create_task_group() as group:

            async def hear(name: str) -> None:
                await self._hear(name)
                if self._is_settled():
                    group.cancel_scope.cancel()

            for name in self.plan.members:
                group.start_soon(hear, name)

    async def _hear(self, name: str) -> None:
        failure = Vote("unknown") if self.plan.fallback == "user" else DECLINE
        self._heard[name] = await self._ask(name, self._context, failure=failure)

    async def _shadow(self, name: str) -> None:
        context = self._context._replace(ask_client=_nobody)
        ballot = await self._ask(name, context, failure=DECLINE)
        self.shadows.append(ballot._replace(is_shadow=True))

    def _is_settled(self) -> bool:
        votes = [ballot.vote for ballot in self.ballots]
        return is_settled(self.plan.mode, votes, len(self.unheard), self.plan.k)

    async def _ask(self, name: str, context: ReviewContext, *, failure: Vote) -> Ballot:
        """Ask one reviewer; whatever goes wrong is its failure."""
        from anyio import move_on_after

        started = time.monotonic()
        deadline = self._deadline(name)
        fault = ""
        with move_on_after(deadline) as scope:
            try:
                outcome = await _found(name, context).review(self._request, context)
                if not scope.cancel_called:
                    elapsed = _since(started)
                    return read_ballot(name, outcome, self._request.amendments, elapsed)
            except FerruleError as error:
                fault = str(error)
            except Exception as error:  # noqa: BLE001 -- a member may raise anything
                fault = f"{type(error).__name__}: {error}"
        if scope.cancel_called:
            fault = f"did not answer within {deadline:g} s (deadline_ms)"
        return Ballot(name, failure, fault, _since(started), is_fault=True)

    def _deadline(self, name: str) -> float | None:
        """A person may take for ever, and a panel holds its own members to their time."""
        if self.plan.deadline_s is not None:
            return self.plan.deadline_s
        return None if name.partition(":")[0] in ("user", "panel") else _DEFAULT_DEADLINE_S


def _found(name: str, context: ReviewContext) -> Reviewer:
    if context.reviewer is None:
        raise PluginError("no other reviewer can be asked here")
    return context.reviewer(name)


async def _nobody(question: ServerRequest) -> Mapping[str, object]:
    """A shadow never bothers a person."""
    return {"decision": "decline"}


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
