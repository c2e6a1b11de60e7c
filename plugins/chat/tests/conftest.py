"""A provider that talks to the scripted model, and a way to collect what it streams."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import pytest

from ferrule_chat.provider import ChatProvider
from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import ItemDone, ModelRequest, ReasoningDelta, TextDelta


@dataclass
class Heard:
    """What a request gave: its events, and the error that ended it, if one did."""

    events: list = field(default_factory=list)
    error: ProviderError | None = None

    def of(self, type_):
        return [event for event in self.events if isinstance(event, type_)]

    @property
    def items(self):
        return [event.item for event in self.of(ItemDone)]

    @property
    def text(self):
        return "".join(event.delta for event in self.of(TextDelta))

    @property
    def reasoning(self):
        return "".join(event.delta for event in self.of(ReasoningDelta))


@pytest.fixture
def make_request():
    def make(**changes):
        given = {"thread_id": "thread-1", "turn_id": "turn-1", "model": "m1"}
        return ModelRequest(**{**given, "input": [], "tools": [], **changes})

    return make


@pytest.fixture
def talk(model_server, make_request, tmp_path):
    """Send requests one after another through one provider; a `Heard` for each."""

    def run(*requests, environ=None, quirks=None, **settings):
        table = {"name": "scripted", "base_url": model_server.base_url, **settings}
        table["quirks"] = quirks or {}
        context = PluginContext(
            home=tmp_path, config={}, environ=environ or {}, settings=table, thread_id="thread-1"
        )

        async def main():
            provider = ChatProvider(context)
            heard = []
            for request in requests or (make_request(),):
                heard.append(Heard())
                try:
                    async for event in provider.stream(request):
                        heard[-1].events.append(event)
                except ProviderError as error:
                    heard[-1].error = error
            await provider.aclose()
            return heard

        heard = anyio.run(main)
        return heard[0] if len(heard) == 1 else heard

    return run


@pytest.fixture
def sent(model_server, talk, make_request):
    """The body a request becomes, for a vendor and quirks."""

    def run(vendor=None, quirks=None, **changes):
        settings = {"vendor": vendor} if vendor else {}
        talk(make_request(**changes), quirks=quirks, **settings)
        return model_server.requests[-1].body

    return run
