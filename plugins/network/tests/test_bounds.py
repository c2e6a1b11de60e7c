"""Bounds: hosts and addresses beyond which no rule, preset or answer opens anything."""

import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_network.host import canonical_host
from ferrule_network.rule import Target
from ferrule_network.settings import settings_of

RULES = ["allow network host:**", "allow network host:10.0.0.1"]


@pytest.fixture
def decided(tmp_path):
    """What is decided about a host under a table `[network]` that allows everything."""

    def decided(host, **table):
        table = {"rules": RULES, "presets": ["github"], **table}
        context = PluginContext(tmp_path, {"network": table}, admin=tmp_path)
        return settings_of(context).policy.judge(Target(canonical_host(host), 443, "https"))

    return decided


@pytest.mark.parametrize(
    ("host", "decision"),
    [
        ("pypi.org", "allow"),
        ("files.pythonhosted.org", "allow"),
        ("a.corp.test", "allow"),
        ("corp.test", "deny"),
        ("github.com", "deny"),
        ("xpypi.org", "deny"),
        ("10.0.0.1", "deny"),
    ],
)
def test_only_hosts_within_the_bounds_are_opened(decided, host, decision):
    judged = decided(host, only_presets=["pypi"], only_hosts=["*.corp.test"])

    assert judged.decision == decision
    assert ("only_hosts" in judged.why) is (decision == "deny")


def test_a_question_opens_nothing_beyond_the_bounds(decided):
    judged = decided("evil.test", rules=[], presets=[], unknown="ask", only_hosts=["a.test"])

    assert judged.decision == "deny"


def test_rules_still_decide_within_the_bounds(decided):
    judged = decided("a.test", rules=["deny network host:a.test"], only_hosts=["a.test"])

    assert judged.decision == "deny"
    assert decided("b.test", rules=[], presets=[], only_hosts=["b.test"]).decision == "deny"


def test_no_hosts_at_all_is_a_bound_too(decided):
    assert decided("github.com", only_hosts=[]).decision == "deny"


@pytest.mark.parametrize(
    ("wanted", "is_refused"),
    [("10.1.0.0/16", False), ("10.1.2.3", False), ("10.0.0.0/8", True), ("127.0.0.1", True)],
)
def test_addresses_are_opened_within_their_bounds(decided, wanted, is_refused):
    table = {"local_addresses": [wanted], "only_local_addresses": ["10.1.0.0/16", "::1"]}

    if is_refused:
        with pytest.raises(ConfigError, match="only_local_addresses"):
            decided("a.test", **table)
    else:
        assert decided("a.test", **table).decision == "allow"


@pytest.mark.parametrize("key", ["only_presets", "only_hosts", "only_local_addresses"])
def test_a_bound_that_cannot_be_read_is_an_error(decided, key):
    with pytest.raises(ConfigError):
        decided("a.test", **{key: ["no such thing"]}, local_addresses=["127.0.0.1"])
