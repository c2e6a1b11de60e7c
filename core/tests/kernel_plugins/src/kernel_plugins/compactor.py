"""A compactor that keeps what the stage says."""

from __future__ import annotations

import anyio

from ferrule_hookspecs.slots import CompactionResult
from kernel_plugins import stage

UNPAIRED = {"type": "function_call", "call_id": "old", "name": "note", "arguments": "{}"}


class StagedCompactor:
    name = "staged"

    def __init__(self, context) -> None:
        self.context = context

    async def compact(self, request, provider, *, reason, material):
        stage.hooks |= {"asked": request, "material": material}
        summary = stage.hooks.get("summary", f"compacted: {reason}")
        if isinstance(summary, BaseException):
            raise summary
        if summary == "unpaired":
            return CompactionResult([UNPAIRED], summary)
        if summary == "hang":
            await anyio.sleep_forever()
        part = {"type": "input_text", "text": summary}
        return CompactionResult([{"type": "message", "role": "user", "content": [part]}], summary)
