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
        for event in stage.turns.popleft():
            if isinstance(event, Exception):
                raise event
            if event == "hang":
                await anyio.sleep_forever()
            else:
                yield event

    async def aclose(self) -> None:
        return None
