"""Wrong settings of a panel are named, with their place."""

import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_reviewer_panel.reviewer import PanelReviewer

WRONG = {
    "no members": ({}, "needs `members`"),
    "members are a number": ({"members": 3}, "members must be a list of texts"),
    "unknown mode": ({"members": ["a"], "mode": "most"}, "mode must be one of chain, all_of"),
    "unknown key": ({"members": ["a"], "memebrs": ["b"]}, "unknown key 'memebrs'"),
    "k missing": ({"members": ["a"], "mode": "k_of_n"}, "k must be from 1 to 1"),
    "k too large": ({"members": ["a"], "mode": "k_of_n", "k": 2}, "k must be from 1 to 1"),
    "k of another mode": ({"members": ["a"], "k": 1}, "only mode 'k_of_n'"),
    "two votes": ({"members": ["a", "a"]}, "names 'a' twice"),
    "a person in the shadow": ({"members": ["a"], "shadow": ["user"]}, "'user' in `shadow`"),
    "no time": ({"members": ["a"], "deadline_ms": 0}, "deadline_ms"),
    "fallback": ({"members": ["a"], "fallback": "accept"}, "fallback must be one of"),
    "one route as a table": ({"members": ["a"], "routes": {"members": ["b"]}}, "[[reviewers."),
    "route": ({"members": ["a"], "routes": [{"tool": "x"}]}, "the 1. in config.toml"),
    "relative": (
        {"members": ["a"], "routes": [{"members": ["b"], "directory": "infra"}]},
        "directory must be absolute",
    ),
}


@pytest.mark.parametrize(("settings", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(settings, told):
    context = PluginContext("/home", {}, settings=settings, name="panel:strict")

    with pytest.raises(ConfigError) as caught:
        PanelReviewer(context)

    assert told in str(caught.value)
    assert "reviewers.panel.strict" in str(caught.value)


def test_it_names_everybody_it_may_ask():
    settings = {
        "members": ["a"],
        "on_escalate": "boss",
        "fallback": "user",
        "shadow": ["s"],
        "routes": [{"members": ["b", "a"], "on_escalate": "decline"}],
        "strict": {"members": ["other"]},
    }

    reviewer = PanelReviewer(PluginContext("/home", {}, settings=settings))

    assert set(reviewer.members) == {"a", "b", "s", "boss", "user"}
