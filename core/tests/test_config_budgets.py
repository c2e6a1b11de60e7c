"""Who may set budgets: the user freely, a project only smaller ones, the administrator the most."""

import pytest

from ferrule_hookspecs.errors import ConfigError


def test_the_administrator_s_budget_holds_where_nobody_set_one(setup):
    setup.rules("[budgets.turn]\ntokens = 1000\n")

    config = setup.load()

    assert config.get("budgets.turn.tokens") == 1000
    assert config.origin("budgets.turn.tokens").layer == "requirements"


def test_less_than_the_administrator_allows_may_be_asked_for(setup):
    setup.user("[budgets.turn]\ntokens = 900\n")
    setup.rules("[budgets.turn]\ntokens = 1000\n")

    assert setup.load().get("budgets.turn.tokens") == 900


@pytest.mark.parametrize("asked", ["1001", "inf", "nan"])
def test_more_than_the_administrator_allows_is_an_error(setup, asked):
    setup.user(f"[budgets.tree]\ncost_usd = {asked}\n")
    setup.rules("[budgets.tree]\ncost_usd = 1000\n")

    with pytest.raises(ConfigError, match=r"budgets\.tree\.cost_usd"):
        setup.load()


def test_a_project_can_only_narrow(setup):
    setup.user("[budgets.turn]\ntokens = 1000\nrequests = 5\n")
    project = "[budgets.turn]\ntokens = 2000\nrequests = 4\nseconds = 30\n"

    config = setup.load(project)

    assert config.get("budgets.turn") == {"tokens": 1000, "requests": 4, "seconds": 30}


@pytest.mark.parametrize(
    "wrong", ["tokens = -1", "cost_usd = -0.5", "cost_usd = nan", 'seconds = "9"', "hours = 3"]
)
def test_what_is_no_budget_is_said(setup, wrong):
    setup.user(f"[budgets.turn]\n{wrong}\n")

    try:
        warnings = setup.load().warnings
    except ConfigError as error:
        warnings = [str(error)]

    assert any("budgets.turn" in warning for warning in warnings)
