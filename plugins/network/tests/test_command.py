"""`ferrule network`, run as a user runs it."""

from __future__ import annotations

import pytest

CONFIG = """
[network]
presets = ["pypi"]
rules = [
    "ask network host:*.partner.test",
    "allow network host:127.0.0.1 port:8080",
    "deny network host:files.pythonhosted.org because:'use the mirror'",
]
"""


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("https://PyPI.org/simple/", 0, "CONNECT pypi.org:443 is allowed: the rule"),
        ("http://pypi.org/", 11, "GET pypi.org:80 is refused: no rule allows it"),
        ("https://files.pythonhosted.org/", 11, "denies it: use the mirror"),
        ("https://a.partner.test/", 10, "CONNECT a.partner.test:443 needs approval"),
        ("https://0x7f.1:8080/", 11, "127.0.0.1 is this machine"),
        ("socks5://pypi.org:22", 11, "SOCKS5 pypi.org:22 is refused"),
        ("pypi.org", 1, "it begins with http://"),
    ],
)
def test_a_decision_is_explained(run_ferrule, ferrule_home, url, code, said):
    (ferrule_home.path / "config.toml").write_text(CONFIG)
    result = run_ferrule("network", "check", url)
    assert result.returncode == code
    assert said in result.stdout + result.stderr


def test_rules_and_presets_are_listed(run_ferrule, ferrule_home):
    (ferrule_home.path / "config.toml").write_text(CONFIG)
    listed = run_ferrule("network", "list").stdout
    assert "allow network protocol:https host:pypi.org port:443  (the preset pypi)" in listed
    assert "ask network host:*.partner.test  (rules of [network])" in listed
    assert "crates.io: index.crates.io" in run_ferrule("network", "presets").stdout


def test_a_project_cannot_open_the_network(run_ferrule, ferrule_home):
    (ferrule_home.workspace / ".ferrule").mkdir()
    (ferrule_home.workspace / ".ferrule/config.toml").write_text(CONFIG)
    trust = f'[projects."{ferrule_home.workspace}"]\ntrust_level = "trusted"\n'
    (ferrule_home.path / "config.toml").write_text(trust)
    assert run_ferrule("network", "check", "https://pypi.org/").returncode == 11
