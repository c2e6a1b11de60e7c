"""How far the web may be searched: what the administrator allows, what a project may set."""

import pytest

from ferrule_hookspecs.errors import ConfigError


@pytest.mark.parametrize(
    ("allowed", "chosen", "expected"),
    [
        ('["cached"]', 'web_search = "cached"', "cached"),
        ('["cached"]', 'web_search = "disabled"', "disabled"),
        ('["cached", "live"]', 'web_search = "live"', "live"),
        ('["cached", "live"]', "", "cached"),
        ('["live"]', "", "disabled"),
        ("[]", "", "disabled"),
        ('["live"]', 'sandbox_mode = "danger-full-access"', "live"),
        ('["indexed"]', 'sandbox_mode = "danger-full-access"', "indexed"),
        ('["cached", "indexed"]', 'sandbox_mode = "danger-full-access"', "indexed"),
    ],
)
def test_what_is_allowed_bounds_the_mode(setup, allowed, chosen, expected):
    setup.rules(f"allowed_web_search_modes = {allowed}")
    setup.user(chosen)

    assert setup.load().values["web_search"] == expected


def test_a_mode_that_is_not_allowed_is_refused_with_its_place(setup):
    setup.rules('allowed_web_search_modes = ["cached"]')
    setup.user('web_search = "live"')

    with pytest.raises(ConfigError, match=r"config\.toml:1.*'live'.*only disabled, cached"):
        setup.load()


def test_a_misspelt_mode_of_the_administrator_is_an_error(setup):
    setup.rules('allowed_web_search_modes = ["cache"]')

    with pytest.raises(ConfigError, match="allowed_web_search_modes"):
        setup.load()


def test_without_a_bound_nothing_is_set(setup):
    setup.user("")

    assert "web_search" not in setup.load().values


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ("", "disabled", "disabled"),
        ("", "cached", "cached"),
        ("", "live", None),
        ('web_search = "live"', "indexed", "indexed"),
        ('web_search = "cached"', "live", "cached"),
        ('web_search = "disabled"', "cached", "disabled"),
    ],
)
def test_a_project_can_only_search_less(setup, user, project, expected):
    setup.user(user)

    values = setup.load(f'web_search = "{project}"').values

    assert values.get("web_search") == expected
