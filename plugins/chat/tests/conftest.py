"""A provider that talks to the scripted model."""

from __future__ import annotations

from functools import partial

import pytest

from ferrule_chat.provider import ChatProvider
from ferrule_hookspecs.plugins import PluginContext
from ferrule_testkit import provider_talk


@pytest.fixture
def make_request():
    return partial(provider_talk.make_request, "m1")


@pytest.fixture
def talk(model_server, make_request, tmp_path):
    """Send requests one after another through one provider; a `Heard` for each."""

    def run(*requests, environ=None, quirks=None, **settings):
        table = {"name": "scripted", "base_url": model_server.base_url, **settings}
        table["quirks"] = quirks or {}
        context = PluginContext(
            home=tmp_path, config={}, environ=environ or {}, settings=table, thread_id="thread-1"
        )
        provider = partial(ChatProvider, context)
        heard = provider_talk.talk(provider, *(requests or (make_request(),)))
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
