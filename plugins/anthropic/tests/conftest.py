"""A provider that talks to the scripted model."""

from __future__ import annotations

from functools import partial

import pytest

from ferrule_anthropic.provider import AnthropicProvider
from ferrule_hookspecs.plugins import PluginContext
from ferrule_testkit import provider_talk

_HELLO = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "hello"}],
}


@pytest.fixture
def make_request():
    def make(**changes):
        return provider_talk.make_request("claude-sonnet-4-5", **{"input": [_HELLO], **changes})

    return make


@pytest.fixture
def talk(model_server, make_request, tmp_path):
    """Send requests one after another through one provider; a `Heard` for each."""

    def run(*requests, environ=None, settings=None, **table):
        given = {"base_url": model_server.base_url, "settings": settings or {}, **table}
        context = PluginContext(
            home=tmp_path, config={}, environ=environ or {}, settings=given, thread_id="thread-1"
        )
        provider = partial(AnthropicProvider, context)
        heard = provider_talk.talk(provider, *(requests or (make_request(),)))
        return heard[0] if len(heard) == 1 else heard

    return run
