"""`ferrule rules`: its answers, exit codes and files."""

from __future__ import annotations

import json

import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_rules.command import command


class Host:
    """The `ferrule` command as a sub-command sees it."""

    version = "0"
    environ: dict = {}  # noqa: RUF012

    def __init__(self, home, project):
        self.home, self._project = home, project

    def config(self, request):
        class Config:
            values: dict = {}  # noqa: RUF012
            project_root = str(self._project)
            is_trusted = True

        return Config()


@pytest.fixture
def rules(session, capsys, monkeypatch):
    monkeypatch.chdir(session.project)

    def run(*argv):
        code = command.main(argv, Host(session.home, session.project))
        return code, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("cmd", "code"),
    [("git status", 0), ("npm ci", 10), ("env curl x > y", 11), ("make", 12), ("rm -rf x", 10)],
)
def test_the_exit_code_tells_the_decision(rules, session, cmd, code):
    session.rules("allow prefix git status\nprompt prefix npm\nforbidden prefix curl\n")
    assert rules("check", "--", cmd)[0] == code


def test_json_holds_the_answer_of_codex_and_more(rules, session):
    session.rules('prefix_rule(["git"], "prompt", justification="why")\n')
    answer = json.loads(rules("check", "--json", "--", "git", "push")[1])
    match = {"matchedPrefix": ["git"], "decision": "prompt", "justification": "why"}
    assert answer["matchedRules"] == [{"prefixRuleMatch": match}]
    assert answer["decision"] == answer["effective"]["decision"] == "prompt"


def test_explain_names_every_command_and_rule(rules, session):
    session.rules("forbidden prefix curl\n")
    text = rules("check", "--explain", "ls && sudo sh -c 'curl x'")[1]
    assert "curl x  (run by sudo > sh)" in text
    assert "forbidden by `forbidden prefix curl`" in text


def test_only_named_files_count_and_a_broken_one_is_an_error(rules, session, tmp_path):
    session.rules("forbidden prefix make\n")
    file = tmp_path / "x.rules"
    file.write_text("allow prefix make\n")
    assert rules("check", "--rules", str(file), "--", "make", "x")[0] == 0
    file.write_text("allow prefx make\n")
    with pytest.raises(FerruleError, match=r"x\.rules:1:7"):
        rules("check", "--rules", str(file), "--", "make")
    with pytest.raises(FerruleError, match="no rules file"):
        rules("check", "--rules", "nowhere", "--", "make")


def test_rules_are_tested_by_files_beside_them(rules, session):
    session.rules("allow prefix make\nforbidden prefix curl\n")
    session.rules("# why\nallow: make all\nforbidden: echo $(curl x)\n", "own.test")
    code, text = rules("test")
    assert (code, text) == (0, "2 rules in 1 files, 2 commands, 0 wrong\n")
    session.rules("none: make all\n", "own.test")
    code, text = rules("test")
    assert code == 1
    assert "own.test:1: wanted none, got allow" in text


def test_added_rules_count(rules, session):
    assert rules("add", "allow", "prefix", "make")[0] == 0
    rules("add", 'forbidden prefix rm -rf because:"use trash"', "allow exact npm run test:*")
    rules("add", "allow prefix make")
    code, text = rules("list")
    assert code == 0
    assert text.count("allow prefix make") == 1
    assert "forbidden prefix rm -rf  (use trash)" in text
    assert session.judge("npm run test:unit").grants


@pytest.mark.parametrize(
    "line", ["allow", "allow prefix", "maybe prefix x", "allow network host:*", "allow prefix 'x"]
)
def test_a_line_that_is_no_rule_is_refused(rules, line):
    with pytest.raises(FerruleError):
        rules("add", f"{line} ")
