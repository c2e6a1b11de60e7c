"""A provider that talks to the scripted model, and ways to collect what it streams."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import pytest

from ferrule_anthropic.provider import AnthropicProvider
from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import ModelRequest


@dataclass
class Heard:
    """What a request gave: its events, and the error that ended it, if one did."""

    events: list = field(default_factory=list)
    error: ProviderError | None = None

    def of(self, type_):
        return [event for event in self.events if isinstance(event, type_)]


@pytest.fixture
def make_request():
    def make(**changes):
        given = {"thread_id": "thread-1", "turn_id": "turn-1", "model": "claude-sonnet-4-5"}
        hello = {"type": "message", "role": "user", "content": [_text("hello")]}
        return ModelRequest(**{**given, "input": [hello], "tools": [], **changes})

    return make


def _text(text):
    return {"type": "input_text", "text": text}


@pytest.fixture
def talk(model_server, make_request, tmp_path):
    """Send requests one after another through one provider; a `Heard` for each."""

    def run(*requests, environ=None, settings=None, **table):
        given = {"base_url": model_server.base_url, "settings": settings or {}, **table}
        context = PluginContext(
            home=tmp_path, config={}, environ=environ or {}, settings=given, thread_id="thread-1"
        )

        async def main():
            provider = AnthropicProvider(context)
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
