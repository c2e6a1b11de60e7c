"""Ferrule's own plugins keep the rules that strangers are held to."""

from pathlib import Path

import pytest

from ferrule_author.rules.code import look_at_code
from ferrule_author.rules.imports import look_at_imports
from ferrule_author.rules.metadata import look_at_contract, look_at_metadata
from ferrule_author.rules.texts import look_at_texts
from ferrule_author.subject import read_checkout

ROOT = Path(__file__).parents[3]
MEMBERS = [
    path.parent
    for folder in ("plugins", "sandboxes", "reviewers")
    for path in sorted((ROOT / folder).glob("*/pyproject.toml"))
    if '[project.entry-points."ferrule.' in path.read_text("utf-8")
]


def errors(looks, members):
    found = [each for member in members for look in looks for each in look(read_checkout(member))]
    return [(each.place, each.message) for each in found if each.level == "error"]


@pytest.mark.slow
def test_they_keep_the_rules_of_metadata_and_code():
    looks = [look_at_metadata, look_at_code, lambda it: look_at_contract(it, "0.1.0")]
    assert len(MEMBERS) > 30
    assert errors(looks, MEMBERS) == []


@pytest.mark.slow
def test_they_keep_the_rules_of_imports_and_texts():
    assert errors([look_at_texts, look_at_imports], MEMBERS) == []
