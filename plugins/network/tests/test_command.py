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

OPENED = """
[network]
rules = [
    "allow network protocol:https host:api.test method:GET path:/v1/*",
    "allow network protocol:https host:closed.test path:/v1/*",
]
[network.tls]
intercept = ["api.test"]
[[network.credentials]]
host = "api.test"
header = "Authorization"
value = "Bearer ${TOKEN}"
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


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["https://api.test/v1/x?y"], 0, "GET api.test:443 is allowed: the rule"),
        (["https://api.test/v1/x", "--method", "post"], 11, "method:POST path:/v1/x"),
        (["https://api.test/v1/../x"], 11, "GET api.test:443 is refused: no rule allows it"),
        (["socks5://api.test:443"], 11, "`intercept` of [network.tls] names it"),
        (["https://closed.test/v1/x"], 11, "add the host to `intercept` of [network.tls]"),
    ],
)
def test_decisions_about_paths_are_explained(run_ferrule, ferrule_home, words, code, said):
    ferrule_home.configure(tables=OPENED)

    finished = run_ferrule("network", "check", *words)

    assert finished.returncode == code, finished.stderr
    assert said in finished.stdout


def test_what_is_opened_and_put_in_is_listed(run_ferrule, ferrule_home):
    ferrule_home.configure(tables=OPENED)

    finished = run_ferrule("network", "list")

    assert "intercept api.test  (intercept of [network.tls])" in finished.stdout
    assert "inject Authorization host:api.test  ([[network.credentials]])" in finished.stdout
