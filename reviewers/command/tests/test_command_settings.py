"""Wrong settings are named, with their place."""

import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_reviewer_command.reviewer import CommandReviewer

WRONG = {
    "neither": ({}, "either `command` or `url`"),
    "both": ({"command": ["a"], "url": "https://a"}, "either `command` or `url`"),
    "a line": ({"command": "review --now"}, "command must be a list of texts"),
    "plain http": ({"url": "http://acme.example/"}, "url must be https"),
    "no host": ({"url": "https:///x"}, "url must be https"),
    "file": ({"url": "file:///etc/passwd"}, "url must be https"),
    "no time": ({"command": ["a"], "timeout_ms": 0}, "timeout_ms must be"),
    "time as text": ({"command": ["a"], "timeout_ms": "9"}, "timeout_ms must be"),
    "on_error": ({"command": ["a"], "on_error": "accept"}, "'decline' or 'user'"),
    "unknown key": ({"command": ["a"], "timeout": 3}, "unknown key 'timeout'"),
    "headers": ({"command": ["a"], "http_headers": {"x": "y"}}, "only a `url` gets"),
    "header": ({"url": "https://a", "http_headers": {"x": 1}}, "a table of texts"),
}


@pytest.mark.parametrize(("settings", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(settings, told):
    with pytest.raises(ConfigError) as caught:
        CommandReviewer(PluginContext("/home", {}, settings=settings, name="command:lint"))

    assert told in str(caught.value)
    assert "[reviewers.command.lint] in config.toml" in str(caught.value)


def test_other_instances_beside_the_settings_are_no_fault():
    settings = {"command": ["a"], "lint": {"command": ["b"]}}

    assert CommandReviewer(PluginContext("/home", {}, settings=settings)).members == ()
