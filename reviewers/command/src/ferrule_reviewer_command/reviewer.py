"""The reviewer `command`: hands a request to a program or a service, and believes one answer.

Whatever is not exactly one well-formed answer in time is a refusal that says what was wrong, or,
where the settings say so, a question to a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import FerruleError
from ferrule_reviewer_command.settings import read_settings

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.review import ReviewContext, ReviewOutcome, ReviewRequest


class CommandReviewer:
    """Asks what its settings name."""

    name = "command"

    def __init__(self, context: PluginContext) -> None:
        self.name = context.name or self.name
        self._context = context
        self._settings = read_settings(self.name, context.settings)

    @property
    def members(self) -> tuple[str, ...]:
        """Who is asked where no answer can be had."""
        return ("user",) if self._settings.on_error == "user" else ()

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        """Ask, and return the answer or what was wrong with it."""
        from ferrule_reviewer_command.answer import AnswerError, read_answer
        from ferrule_reviewer_command.payload import payload_of

        try:
            text = await self._ask(payload_of(request))
            return read_answer(text, self.name, request.amendments)
        except AnswerError as error:
            return await self._without_answer(str(error), request, context)

    async def _ask(self, payload: bytes) -> bytes:
        from anyio import move_on_after

        from ferrule_reviewer_command.answer import AnswerError

        with move_on_after(self._settings.timeout_s):
            if self._settings.command:
                from ferrule_reviewer_command.program import run

                return await run(self._settings, payload, self._context)
            from ferrule_reviewer_command.service import post

            return await post(self._settings, payload, self._context.environ)
        raise AnswerError(f"did not answer within {self._settings.timeout_s:g} s (timeout_ms)")

    async def _without_answer(
        self, fault: str, request: ReviewRequest, context: ReviewContext
    ) -> ReviewOutcome:
        fault = f"{self._settings.asked} {fault}"
        if self._settings.on_error == "user" and context.reviewer is not None:
            try:
                answer = await context.reviewer("user").review(request, context)
            except FerruleError as error:
                fault = f"{fault}; nobody else could be asked: {error}"
            else:
                evidence = [f"{self.name}: {fault}", *answer.get("evidence", [])]
                return cast("ReviewOutcome", {**answer, "evidence": evidence})
        return {
            "decision": "decline",
            "reviewer": self.name,
            "reason": fault,
            "rule": "reviewer fault",
        }
