"""Where rules come from, and what they say."""

from __future__ import annotations

import pytest

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_network.host import canonical_host
from ferrule_network.presets import PRESETS
from ferrule_network.rule import Target, parse_rule
from ferrule_network.settings import settings_of


def decide(rule, host="a.test", port=443, protocol="https", method=""):
    target = Target(canonical_host(host), port, protocol, method)
    return parse_rule(rule, "test").covers(target)


@pytest.mark.parametrize(
    ("rule", "target", "covers"),
    [
        ("allow network host:a.test", {}, True),
        ("allow network host:A.Test.", {}, True),
        ("allow network host:a.test", {"host": "b.a.test"}, False),
        ("allow network host:a.test", {"host": "xa.test"}, False),
        ("allow network host:*.a.test", {"host": "b.a.test"}, True),
        ("allow network host:*.a.test", {"host": "c.b.a.test"}, True),
        ("allow network host:*.a.test", {}, False),
        ("allow network host:*.a.test", {"host": "xa.test"}, False),
        ("allow network host:**", {}, True),
        ("allow network host:**", {"host": "1.1.1.1"}, False),
        ("deny network host:**", {"host": "1.1.1.1"}, True),
        ("allow network host:a.test", {"port": 22}, False),
        ("allow network host:a.test port:22", {"port": 22}, True),
        ("deny network host:a.test", {"port": 22}, True),
        ("allow network host:a.test protocol:https", {"port": 80}, False),
        ("allow network host:a.test protocol:https", {"protocol": "socks5_tcp"}, False),
        ("deny network host:a.test protocol:https", {"protocol": "socks5_tcp"}, True),
        ("allow network host:a.test protocol:socks5_tcp", {"protocol": "socks5_tcp"}, False),
        ("allow network host:a.test method:GET", {}, False),
        ("deny network host:a.test method:POST", {}, True),
        (
            "allow network host:a.test method:GET",
            {"protocol": "http", "port": 80, "method": "GET"},
            True,
        ),
        (
            "allow network host:a.test method:GET",
            {"protocol": "http", "port": 80, "method": "POST"},
            False,
        ),
    ],
)
def test_allowing_is_strict_and_restricting_is_lenient(rule, target, covers):
    assert decide(rule, **target) is covers


@pytest.mark.parametrize(
    "line",
    [
        "allow host:a.test",
        "permit network host:a.test",
        "allow network",
        "allow network host:",
        "allow network host:a*.test",
        "allow network host:*.1.2.3.4",
        "allow network host:a.test host:b.test",
        "allow network host:a.test port:0",
        "allow network host:a.test port:70000",
        "allow network host:a.test protocol:ftp",
        "allow network host:a.test method:get",
        "allow network host:a.test method:GET protocol:socks5_tcp",
        "allow network host:a.test path:/x protocol:socks5_tcp",
        "allow network host:a.test path:x",
        "allow network host:a.test path:/x?y",
        "allow network host:a.test path:/x/../y",
        "allow network host:a.test path:/%41",
        "allow network host:a.test 'because:x",
    ],
)
def test_a_broken_rule_is_named_with_its_place(line):
    with pytest.raises(ConfigError, match=r"^config.toml: .*is no rule about the network"):
        parse_rule(line, "config.toml")


@pytest.mark.parametrize(
    "network",
    [
        {"rules": "allow network host:a.test"},
        {"rules": [1]},
        {"presets": ["pipy"]},
        {"local_addresses": ["localhost"]},
        {"local_addresses": "127.0.0.1"},
        {"local_addresses": [127]},
    ],
)
def test_a_setting_that_cannot_be_used_stops(tmp_path, network):
    with pytest.raises(ConfigError, match=r"\[network\]"):
        settings_of(PluginContext(tmp_path, {"network": network}, admin=tmp_path / "admin"))


def _policy(tmp_path, **options):
    return settings_of(
        PluginContext(tmp_path / "home", {}, admin=tmp_path / "admin", **options)
    ).policy


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_rules_of_administrator_user_and_trusted_project_count_together(tmp_path):
    project = tmp_path / "project"
    _write(tmp_path / "admin/rules/a.rules", "deny network host:a.test\n")
    _write(
        tmp_path / "home/rules/default.rules",
        'prefix_rule(pattern=["ls"], decision="allow")\n'
        'network_rule(host="a.test", protocol="https", decision="allow")\n'
        'network_rule("b.test", "https", "prompt", justification="why")\n',
    )
    _write(project / ".ferrule/rules/x.rules", "allow prefix ls\nallow network host:c.test # yes\n")
    here = {"project_root": str(project)}
    policy = _policy(tmp_path, is_trusted=True, **here)
    decisions = [
        policy.judge(Target(canonical_host(f"{name}.test"), 443, "https")).decision
        for name in "abcd"
    ]
    assert decisions == ["deny", "ask", "allow", "deny"]
    assert len(_policy(tmp_path, is_trusted=False, **here).rules) == 3
    assert policy.flaws == ()


@pytest.mark.parametrize(
    "text",
    [
        "allow network host:a.test\nallow network nonsense\n",
        'network_rule(host="a.test", protocol="https", decision="allow")\nnetwork_rule(host=x)\n',
        'network_rule(host="a.test", protocol="https", decision="allow")\n(\n',
        'rule = network_rule\nrule(host="a.test", protocol="https", decision="deny")\n',
        'load("x", "y")\n',
        "[network_rule(host=h, protocol='https', decision='deny') for h in ['a.test']]\n",
    ],
    ids=["line", "computed", "broken", "alias", "load", "loop"],
)
def test_a_file_that_may_restrict_and_cannot_be_read_makes_the_allowed_ask(tmp_path, text):
    _write(tmp_path / "home/rules/a.rules", text)
    _write(tmp_path / "home/rules/b.rules", "allow network host:b.test\n")
    policy = _policy(tmp_path)
    assert len(policy.flaws) == 1
    assert str(tmp_path / "home/rules/a.rules") in policy.flaws[0]
    judge = policy.judge(Target(canonical_host("b.test"), 443, "https"))
    assert judge.decision == "ask"
    assert policy.judge(Target(canonical_host("a.test"), 443, "https")).decision == "deny"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_allows_its_hosts_by_https_and_names_them_as_they_are_compared(tmp_path, name):
    context = PluginContext(tmp_path, {"network": {"presets": [name]}}, admin=tmp_path / "admin")
    policy = settings_of(context).policy
    for host in PRESETS[name]:
        assert canonical_host(host).text == host
        assert policy.judge(Target(canonical_host(host), 443, "https")).decision == "allow"
        assert policy.judge(Target(canonical_host(host), 22, "https")).decision == "deny"
