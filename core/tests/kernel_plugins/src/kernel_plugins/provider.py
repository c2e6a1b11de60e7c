"""A provider that answers what the stage says."""

from __future__ import annotations

import anyio

from kernel_plugins import stage


class StagedProvider:
    name = "staged"
    stream_max_retries = 2

    def __init__(self, context) -> None:
        self.context = context

    async def stream(self, request):
        stage.requests.append(request)
        try:
            for event in stage.turns.popleft():
                if isinstance(event, BaseException):
                    raise event
                if event == "hang":
                    await anyio.sleep_forever()
                else:
                    yield event
        finally:
            stage.closed.append("stream")

    def prewarm(self) -> None:
        stage.warmed.append("prewarm")

    async def warm_up(self, request) -> None:
        stage.warmed.append(request)
        fault = stage.faults.get("warm_up")
        if isinstance(fault, BaseException):
            raise fault
        if fault == "hang":
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        stage.closed.append("provider")
        fault = stage.faults.get("aclose")
        if fault == "hang":
            await anyio.sleep_forever()
        if isinstance(fault, BaseException):
            raise fault
