"""Says back what it was told."""

from collections.abc import AsyncIterator

from ferrule_hookspecs import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelEvent, ModelRequest


class EchoProvider:
    name = "echo"
    stream_max_retries = 0

    def __init__(self, context: PluginContext) -> None:
        self.greeting = str(context.settings.get("greeting", ""))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        said = request.input[-1]["content"][-1]["text"]
        part = {"type": "output_text", "text": f"{self.greeting}{said}"}
        yield ItemDone({"type": "message", "role": "assistant", "content": [part]})
        yield Completed("r1", None)

    async def aclose(self) -> None:
        return None
