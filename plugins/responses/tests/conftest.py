"""A provider that talks to the scripted model."""

from __future__ import annotations

from functools import partial

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit import provider_talk


@pytest.fixture
def make_request():
    return partial(provider_talk.make_request, "gpt-5.5")


@pytest.fixture
def talk(model_server, make_request, tmp_path):
    """Send requests one after another through one provider; a `Heard` for each."""

    def run(*requests, environ=None, **settings):
        table = {"name": "scripted", "base_url": model_server.base_url, **settings}
        context = PluginContext(
            home=tmp_path, config={}, environ=environ or {}, settings=table, thread_id="thread-1"
        )
        provider = partial(ResponsesProvider, context)
        heard = provider_talk.talk(provider, *(requests or (make_request(),)))
        return heard[0] if len(heard) == 1 else heard

    return run
