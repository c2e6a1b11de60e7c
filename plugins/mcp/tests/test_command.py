"""`ferrule mcp`: what is configured, changed and tried."""

import json
import tomllib

import pytest

SECRETS = {"env": {"API_KEY": "sekret-1"}, "args": ["--token", "sekret-2", "--api-key=sekret-3"]}
URL = """
[mcp_servers.net]
url = "https://me:sekret-4@h.test/mcp?k=sekret-5"
http_headers = { A = "sekret-6" }
"""


def config(talk):
    return tomllib.loads((talk.home.path / "config.toml").read_text())


@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "--json"), ("get", "one"), ("get", "net", "--json")]
)
def test_secrets_are_never_printed(talk, table, arguments):
    talk.configure(table("one", **SECRETS), URL)

    run = talk.home.run("mcp", *arguments)

    assert run.returncode == 0
    assert "sekret" not in run.stdout + run.stderr


def test_list_and_get_show_what_and_whence(talk, table):
    talk.configure(table("one"), table("two", enabled=False), URL)

    listed = json.loads(talk.home.run("mcp", "list", "--json").stdout)
    shown = talk.home.run("mcp", "get", "net").stdout

    assert [(row["name"], row["state"]) for row in listed] == [
        ("net", "enabled"),
        ("one", "enabled"),
        ("two", "disabled"),
    ]
    assert "url: https://h.test/mcp?*****" in shown
    assert str(talk.home.path / "config.toml") in shown


def test_a_server_is_added_and_removed_and_comments_stay(talk):
    talk.configure("# mine\n")

    added = talk.home.run("mcp", "add", "new", "--env", "K=V", "--", "prog", "-x", "1")
    assert added.returncode == 0, added.stderr
    assert config(talk)["mcp_servers"] == {
        "new": {"command": "prog", "args": ["-x", "1"], "env": {"K": "V"}}
    }
    again = talk.home.run("mcp", "add", "new", "--", "other")
    assert again.returncode != 0
    assert "--replace" in again.stderr
    assert talk.home.run("mcp", "add", "--replace", "new", "--", "other").returncode == 0
    assert config(talk)["mcp_servers"]["new"] == {"command": "other", "args": []}
    assert talk.home.run("mcp", "remove", "new").returncode == 0

    assert not config(talk).get("mcp_servers")
    assert "# mine" in (talk.home.path / "config.toml").read_text()


def test_a_server_of_the_network_is_added_by_url(talk):
    talk.configure()

    run = talk.home.run(
        "mcp", "add", "--url", "https://h.test/mcp", "--bearer-token-env-var", "T", "net"
    )

    assert run.returncode == 0, run.stderr
    assert config(talk)["mcp_servers"]["net"] == {
        "url": "https://h.test/mcp",
        "bearer_token_env_var": "T",
    }


WRONG = {
    "neither": (("add", "x"), "needs either `command` or `url`"),
    "both": (("add", "--url", "http://h", "x", "--", "prog"), "needs either `command` or `url`"),
    "env": (("add", "--env", "K", "x", "--", "prog"), "--env takes KEY=VALUE"),
    "mixed": (("add", "--url", "http://h", "--env", "K=V", "x"), "are for programs"),
    "get": (("get", "nobody"), "no MCP server 'nobody'"),
    "remove": (("remove", "nobody"), "no MCP server 'nobody'"),
    "test": (("test", "nobody"), "no MCP server 'nobody'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused_and_nothing_is_changed(talk, case):
    arguments, words = WRONG[case]
    talk.configure()
    before = (talk.home.path / "config.toml").read_text()

    run = talk.home.run("mcp", *arguments)

    assert run.returncode != 0
    assert words in run.stderr
    assert (talk.home.path / "config.toml").read_text() == before


def test_a_server_is_tried_and_what_it_offers_is_remembered(talk, table):
    talk.configure(table("demo", "--slow", "0.5", disabled_tools=["write"]))

    run = talk.home.run("mcp", "test", "demo", "--json")

    tried = json.loads(run.stdout)
    assert tried["server"] == "plain 1.0"
    assert "echo" in tried["tools"]
    assert "write" not in tried["tools"]
    assert list((talk.home.path / "cache" / "mcp").glob("*.json"))
    assert not run.survivors


def test_a_server_that_fails_is_tried_in_vain_and_says_why(talk, table):
    talk.configure(table("demo", "x", server="no_such_server.py"))

    run = talk.home.run("mcp", "test", "demo")

    assert run.returncode != 0
    assert "ended with exit code 2; it wrote:" in run.stderr
    assert "no_such_server.py" in run.stderr


def test_prompts_are_listed_and_one_is_filled_in(talk, table):
    talk.configure(table("demo"))

    listed = talk.home.run("mcp", "prompts", "demo")
    filled = talk.home.run("mcp", "prompts", "demo", "greet", "who=Ada")
    whole = talk.home.run("mcp", "prompts", "demo", "greet", "who=Ada", "--json")
    refused = talk.home.run("mcp", "prompts", "demo", "greet")

    assert listed.stdout == "greet who=…: Says hello.\n"
    assert filled.stdout == "Say hello to Ada.\n"
    assert json.loads(whole.stdout)["messages"][0]["role"] == "user"
    assert "who is missing" in refused.stderr
    assert [run.survivors for run in (listed, filled, refused)] == [{}, {}, {}]


def test_a_server_that_is_switched_off_is_not_started(talk, table, starts):
    talk.configure(table("demo", "--starts", starts, enabled=False))

    for command in ("test", "prompts"):
        run = talk.home.run("mcp", command, "demo")
        assert "the MCP server 'demo' is disabled" in run.stderr
    assert starts.read_text() == ""
