"""The examples of docs/hooks-json.md are hooks that can be used."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from ferrule_hooks.definitions import handlers_of
from ferrule_hooks.events import EVENTS
from ferrule_hooks.handler import Source

PAGE = Path(__file__).parents[3] / "docs" / "hooks-json.md"
BLOCKS = re.findall(r"```(json|toml)\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("kind", "text"), BLOCKS)
def test_an_example_can_be_used(kind, text):
    table = (json.loads(text) if kind == "json" else tomllib.loads(text))["hooks"]
    assert list(handlers_of(table, Source("page", "user"), pytest.fail, root="/nowhere"))


def test_every_event_is_explained():
    assert [name for name in EVENTS if f"`{name}`" not in PAGE.read_text()] == []
