"""A reviewer that decides what the stage says."""

from __future__ import annotations

import anyio

from kernel_plugins import stage


class StagedReviewer:
    name = "staged"

    def __init__(self, context) -> None:
        self.context = context

    async def review(self, request, context):
        stage.review_requests.append(request)
        decision = stage.reviews.popleft()
        if isinstance(decision, BaseException):
            raise decision
        if decision is None:
            await anyio.sleep_forever()
        if decision == "ask the client":
            question = {
                "id": 0,
                "method": "item/commandExecution/requestApproval",
                "params": {
                    "threadId": request.thread_id,
                    "turnId": request.turn_id,
                    "itemId": request.call.call_id,
                    "startedAtMs": 0,
                },
            }
            decision = (await context.ask_client(question))["decision"]
        if callable(decision):
            decision = await decision(request, context)
        if isinstance(decision, dict):
            return {"reviewer": "staged", "reason": "the stage says so", **decision}
        return {"decision": decision, "reviewer": "staged", "reason": f"the stage says {decision}"}


class AskingReviewer:
    """Has the reviewer that its settings name decide, whatever it does."""

    def __init__(self, context) -> None:
        self.name = context.name
        self.asked = context.settings["asks"]
        if not context.settings.get("in_secret"):
            self.members = (self.asked,)

    async def review(self, request, context):
        outcome = await context.reviewer(self.asked).review(request, context)
        return {**outcome, "reviewer": f"{self.name} by {outcome['reviewer']}"}
