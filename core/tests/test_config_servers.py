"""Which MCP servers the administrator allows."""

import pytest

from ferrule_hookspecs.errors import ConfigError

SERVERS = """
[mcp_servers.docs]
command = "npx"
[mcp_servers.web]
url = "https://a.test/mcp"
"""
ALLOWED = """
[mcp_servers.docs.identity]
command = "npx"
[mcp_servers.web.identity]
url = "https://a.test/mcp"
"""


def enabled(config):
    tables = config.get("mcp_servers")
    return sorted(name for name, table in tables.items() if table.get("enabled") is not False)


def test_without_a_list_all_are_allowed(setup):
    setup.user(SERVERS)

    assert enabled(setup.load()) == ["docs", "web"]


def test_those_on_the_list_are_allowed(setup):
    setup.user(SERVERS)
    setup.rules(ALLOWED)

    config = setup.load()

    assert enabled(config) == ["docs", "web"]
    assert not config.warnings


@pytest.mark.parametrize(
    ("rules", "left", "reason"),
    [
        ("[mcp_servers]", [], "does not allow it; allowed are: none"),
        (ALLOWED.replace("docs", "other"), ["web"], "allowed are: other, web"),
        (ALLOWED.replace("npx", "uvx"), ["web"], "allows it only with command 'uvx'"),
        (ALLOWED.replace("a.test", "b.test"), ["docs"], "only with url 'https://b.test/mcp'"),
        ("[mcp_servers.docs]\n[mcp_servers.web]", [], "names neither `identity.command`"),
    ],
    ids=["none", "name", "command", "url", "empty"],
)
def test_others_are_switched_off_and_it_is_said_why(setup, rules, left, reason):
    setup.user(SERVERS)
    setup.rules(rules)

    config = setup.load()

    assert enabled(config) == left
    assert any(reason in warning and "is not started" in warning for warning in config.warnings)
    off = next(name for name in ("docs", "web") if name not in left)
    assert config.origin(f"mcp_servers.{off}.enabled").layer == "requirements"


def test_a_server_cannot_be_both_a_program_and_a_url_to_get_past_the_list(setup):
    setup.user('[mcp_servers.docs]\ncommand = "npx"\nurl = "https://evil.test"\n')
    setup.rules(ALLOWED)

    assert enabled(setup.load()) == []


def test_options_of_a_run_do_not_get_past_the_list(setup):
    setup.rules(ALLOWED)

    config = setup.load(
        overrides=('mcp_servers.evil.command="sh"', "mcp_servers.evil.enabled=true")
    )

    assert enabled(config) == []


def test_a_misspelt_list_is_an_error(setup):
    setup.rules('[mcp_servers.docs.identity]\ncomand = "npx"')

    with pytest.raises(ConfigError, match="comand"):
        setup.load()
