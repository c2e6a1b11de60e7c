"""What the administrator lets the managed network reach."""

import pytest

from ferrule_hookspecs.errors import ConfigError

USER = '[network]\nenabled = true\npresets = ["npm"]\nrules = ["allow network host:a.test"]\n'


def test_without_bounds_the_user_decides(setup):
    setup.user(USER)

    assert setup.load().get("network") == {
        "enabled": True,
        "presets": ["npm"],
        "rules": ["allow network host:a.test"],
    }


def test_an_administrator_can_switch_it_off_for_good(setup):
    setup.user(USER)
    setup.rules("[network]\nenabled = false\n")

    config = setup.load()

    assert config.get("network.enabled") is False
    assert any("does not allow a managed network" in warning for warning in config.warnings)
    assert config.origin("network.enabled").layer == "requirements"


def test_where_nobody_asked_for_it_nothing_is_said(setup):
    setup.rules("[network]\nenabled = false\n")

    config = setup.load()

    assert config.get("network.enabled") is False
    assert not config.warnings


@pytest.mark.parametrize("key", ["only_presets", "only_hosts", "only_local_addresses"])
def test_the_administrator_s_bounds_replace_the_user_s_own(setup, key):
    setup.user(f'[network]\n{key} = ["wide", "wider"]\n')
    setup.rules(f'[network]\n{key} = ["narrow"]\n')

    config = setup.load()

    assert config.get(f"network.{key}") == ["narrow"]
    assert config.origin(f"network.{key}").layer == "requirements"


def test_the_administrator_s_rules_stand_before_the_user_s(setup):
    setup.user(USER)
    setup.rules('[network]\nrules = ["deny network host:b.test"]\n')

    rules = setup.load().get("network.rules")

    assert rules == ["deny network host:b.test", "allow network host:a.test"]


def test_a_bound_that_is_not_understood_is_an_error(setup):
    setup.rules('[network]\nonly_host = ["a.test"]\n')

    with pytest.raises(ConfigError, match="only_host"):
        setup.load()
