"""`web_search`: what the provider is told, by what is configured."""

import json
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.errors import ConfigError, ToolError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import ToolCall
from ferrule_testkit.model_items import message
from ferrule_web_search.tool import WebSearch

CACHED = {"external_web_access": False}
SEARCH = {
    "type": "web_search_call",
    "id": "ws1",
    "status": "completed",
    "action": {"type": "search", "query": "rust async"},
}


def tool(config=None, **table):
    values = {"tools": {"web_search": table}} | (config or {})
    return WebSearch(PluginContext(Path("/nowhere"), values))


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        ({}, CACHED),
        ({"web_search": "cached"}, CACHED),
        ({"web_search": "indexed"}, {"external_web_access": True, "indexed_web_access": True}),
        ({"web_search": "live"}, {"external_web_access": True}),
        ({"sandbox_mode": "read-only"}, CACHED),
        ({"sandbox_mode": "danger-full-access"}, {"external_web_access": True}),
        ({"sandbox_mode": "danger-full-access", "web_search": "cached"}, CACHED),
    ],
)
def test_the_mode_says_what_a_search_may_reach(config, settings):
    made = tool(config)

    assert made.is_enabled()
    assert made.schema() == ("web_search", settings)


def test_it_can_be_switched_off():
    assert not tool({"web_search": "disabled"}).is_enabled()


@pytest.mark.parametrize(
    ("wire_api", "mode", "warned"),
    [
        ("chat", "live", True),
        ("chat", "cached", False),
        ("responses", "live", False),
        (None, "live", False),
    ],
)
def test_a_wish_that_no_provider_grants_is_said(wire_api, mode, warned):
    said = []
    table = {} if wire_api is None else {"wire_api": wire_api}
    config = {"web_search": mode, "model_provider": "x", "model_providers": {"x": table}}

    assert WebSearch(PluginContext(Path("/nowhere"), config, warn=said.append)).is_enabled()

    assert ["'chat' has no search" in each for each in said] == [True] * warned


def test_wishes_about_searches_are_handed_on():
    made = tool(
        context_size="high",
        allowed_domains=["example.com", "b.org"],
        location={"country": "DE", "city": "Berlin", "timezone": "Europe/Berlin", "region": "BE"},
    )

    assert made.schema().settings == {
        **CACHED,
        "filters": {"allowed_domains": ["example.com", "b.org"]},
        "user_location": {
            "type": "approximate",
            "country": "DE",
            "region": "BE",
            "city": "Berlin",
            "timezone": "Europe/Berlin",
        },
        "search_context_size": "high",
    }


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"context_size": "huge"}, "context_size"),
        ({"allowed_domains": "example.com"}, "allowed_domains"),
        ({"allowed_domains": [1]}, "allowed_domains"),
        ({"location": "Berlin"}, "location"),
        ({"location": {"planet": "Mars"}}, "planet"),
        ({"location": {"city": 1}}, "location"),
    ],
)
def test_a_wrong_wish_is_named(table, complaint):
    with pytest.raises(ConfigError, match=complaint):
        tool(**table)


def test_it_is_nothing_to_call():
    call = ToolCall("c", "web_search", {}, "{}", "function")

    with pytest.raises(ToolError, match="provider itself"):
        anyio.run(tool().run, call, None)
    assert tool().item(call, "/") is None


def events(run_ferrule, *options):
    done = run_ferrule("exec", "--json", "--skip-git-repo-check", *options, "look it up")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_run_shows_what_was_searched(run_ferrule, model_server):
    model_server.play([[SEARCH, message("found it")]])

    shown = [event for event in events(run_ferrule) if "item" in event]

    fields = {"type": "web_search", "query": "rust async", "action": SEARCH["action"]}
    assert [event["type"] for event in shown[:2]] == ["item.started", "item.completed"]
    assert all(event["item"] == {"id": "item_0", **fields} for event in shown[:2])
    tools = model_server.requests[-1].body["tools"]
    assert tools[-1]["type"] == "web_search"
    assert tools[-1]["external_web_access"] is False


def test_a_run_without_it_does_not_offer_it(run_ferrule, model_server):
    model_server.play([[message("ok")]])

    events(run_ferrule, "-c", "web_search=disabled")

    types = [tool["type"] for tool in model_server.requests[-1].body["tools"]]
    assert "web_search" not in types
