"""Vendors are recognised, and what a user sets wrong is said in one sentence."""

import re
from pathlib import Path

import pytest

from ferrule_chat.quirks import Quirks, read_quirks
from ferrule_hookspecs.errors import ConfigError

PLAIN = read_quirks({"name": "mine"}, "https://models.example.com/v1")
DOCS = Path(__file__).parents[3] / "docs" / "providers.md"


def quirks_of(base_url="https://models.example.com/v1", **table):
    return read_quirks({"name": "mine", **table}, base_url)


@pytest.mark.parametrize(
    ("name", "base_url", "key", "value"),
    [
        ("Mistral", "https://proxy.example.com/v1", "short_call_ids", True),
        ("x", "https://api.mistral.ai/v1", "short_call_ids", True),
        ("LM Studio", "http://box:9/v1", "mend_unreachable", "start its server with"),
        ("llama.cpp", "http://box:9/v1", "reasoning_back", "reasoning_content"),
        ("x", "http://localhost:11434/v1", "mend_unreachable", "start it with `ollama serve`"),
        ("x", "https://mine.openai.azure.com/openai/v1", "instructions_role", "system"),
        ("x", "https://openrouter.ai/api/v1", "reasoning_effort", "object"),
        ("OpenAI", "https://api.deepseek.com", "reasoning_back_always", True),
    ],
)
def test_a_vendor_is_known_by_its_host_or_else_by_its_name(name, base_url, key, value):
    found = getattr(read_quirks({"name": name}, base_url), key)
    assert found.startswith(value) if isinstance(value, str) else found == value


def test_a_host_that_only_looks_alike_is_nobody_known():
    assert quirks_of("https://notopenai.azure.com.example.com/v1") == PLAIN
    assert quirks_of("http://localhost:8080/v1") == PLAIN


def test_a_vendor_can_be_chosen_and_single_quirks_changed():
    chosen = quirks_of(vendor="mistral", quirks={"short_call_ids": False})
    assert chosen == quirks_of(vendor="mistral")._replace(short_call_ids=False)
    assert chosen.bridge_tool_to_user


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ({"vendor": "acme"}, "settings.vendor"),
        ({"quirks": "none"}, "settings.quirks"),
        ({"quirks": {"colour": 1}}, "settings.quirks.colour"),
        ({"quirks": {"hosts": []}}, "settings.quirks.hosts"),
        ({"quirks": {"merge_messages": "yes"}}, "settings.quirks.merge_messages"),
        ({"quirks": {"max_tokens": True}}, "settings.quirks.max_tokens"),
        ({"quirks": {"max_tokens": -1}}, "settings.quirks.max_tokens"),
        ({"quirks": {"think_tags": "on"}}, "settings.quirks.think_tags"),
        ({"quirks": {"think_tags": []}}, "settings.quirks.think_tags"),
        ({"quirks": {"reasoning_fields": ["a", 1]}}, "settings.quirks.reasoning_fields"),
        ({"quirks": {"efforts": {"low": 1}}}, "settings.quirks.efforts"),
    ],
)
def test_what_is_set_wrong_is_named_with_its_place(table, place):
    with pytest.raises(ConfigError, match=f"`{re.escape(place)}` of the model provider 'mine'"):
        quirks_of(**table)


def test_a_wrong_quirk_stops_the_command_with_one_sentence(ferrule_home, run_ferrule):
    settings = 'settings = { quirks = { think_tags = "on" } }'
    ferrule_home.configure(wire_api="chat", provider=settings)
    run = run_ferrule("exec", "hi")
    assert run.returncode != 0
    assert "must be one of off, leading, open, not 'on'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("key", Quirks._fields)
def test_every_quirk_is_documented(key):
    assert f"| `{key}` |" in DOCS.read_text(encoding="utf-8")
