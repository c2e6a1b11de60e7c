"""Who decides where a stranger's tools run."""

import pytest

from ferrule.entry import Entry
from ferrule.isolation.choice import is_isolated, vain_choices
from ferrule_hookspecs.manifest import Manifest


def entry(wish="none", *, distribution="acme-ticket", group="ferrule.tools"):
    manifest = Manifest(isolation=wish)
    return Entry(group, "acme_ticket", "t:T", distribution, "1", "/x", manifest=manifest)


def isolated(table, wish="none", **facts):
    return is_isolated(entry(wish, **facts), {"plugins": {"isolation": table}})


def test_without_a_word_of_the_user_the_author_s_wish_counts():
    assert isolated({}, "process")
    assert not isolated({}, "none")
    assert is_isolated(entry("process"), {})


@pytest.mark.parametrize("name", ["acme-ticket", "acme_ticket", "ferrule.tools:acme_ticket"])
def test_what_the_user_says_of_a_plugin_beats_its_author_and_the_default(name):
    assert isolated({name: "process"}, "none")
    assert not isolated({name: "none", "default": "process"}, "process")


def test_where_two_names_speak_of_a_tool_the_stricter_word_counts():
    assert isolated({"acme-ticket": "none", "ferrule.tools:acme_ticket": "process"})


def test_the_default_is_for_strangers_and_beats_their_wishes():
    assert isolated({"default": "process"})
    assert not isolated({"default": "none"}, "process")
    assert not isolated({"default": "process"}, distribution="ferrule-shell")


def test_only_tools_are_ever_isolated():
    assert not isolated({"default": "process"}, "process", group="ferrule.plugins")


def test_a_project_can_only_make_it_stricter(setup):
    setup.user('[plugins.isolation]\nacme-ticket = "none"\nother = "process"')

    loaded = setup.load(
        '[plugins.isolation]\nacme-ticket = "process"\nother = "none"\nmore = "none"'
    )

    assert loaded.get("plugins.isolation") == {"acme-ticket": "process", "other": "process"}


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ('acme-ticket = "process"', {"acme-ticket": "process", "other": "none"}),
        ('acme-ticket = "none"', {"acme-ticket": "none", "other": "none"}),
        ('default = "process"', {"default": "process"}),
        (
            'default = "process"\nother = "none"',
            {"default": "process", "other": "none"},
        ),
    ],
)
def test_the_administrator_fixes_it(setup, rules, left):
    setup.user('[plugins.isolation]\nacme-ticket = "none"\nother = "none"')
    setup.rules(f"[plugins.isolation]\n{rules}")

    assert setup.load().get("plugins.isolation") == left


def test_a_name_that_no_tool_has_is_told_and_not_passed_over():
    table = {"default": "process", "acme_ticket": "process", "acme-tickte": "process", "x": "none"}

    (told,) = vain_choices([entry()], {"plugins": {"isolation": table}})

    assert "names 'acme-tickte', but there is no such tool" in told
    assert vain_choices([entry(group="ferrule.plugins")], {}) == []
