"""Lasting rules: what is offered, and how an accepted one is kept."""

from __future__ import annotations

import shlex
import threading

import pytest

from ferrule_hookspecs.review import Amendment
from ferrule_rules.hooks import ferrule_amendment

OUT = {"sandbox_permissions": "require_escalated"}


def offered(session, cmd, **arguments):
    verdict = session.judge(cmd, **{**OUT, **arguments})
    return [one.value for one in verdict.amendments] if verdict else []


def test_the_models_rule_is_offered_where_it_answers_the_question(session):
    assert offered(session, "npm test -- x", prefix_rule=["npm", "test"]) == [("npm", "test")]


@pytest.mark.parametrize(
    "prefix",
    [["python3"], ["bash", "-lc"], ["git"], ["sudo"], ["env"], ["node", "-e"], ["cargo"], []],
)
def test_a_rule_that_is_too_broad_or_does_not_fit_is_not_offered(session, prefix):
    assert offered(session, "npm test", prefix_rule=prefix) == [("npm", "test")]


def test_the_command_itself_is_offered_else(session):
    assert offered(session, "npm test") == [("npm", "test")]
    assert offered(session, "rm -rf build") == [("rm", "-rf", "build")]


@pytest.mark.parametrize(
    "cmd", ["python3 - <<'E'\nx\nE\n", "a $(b)", "npm x > y", "npm x; make", "git", "python3"]
)
def test_nothing_is_offered_for_what_a_rule_could_not_say(session, cmd):
    assert offered(session, cmd) == []


def test_nothing_is_offered_where_a_rule_asks(session):
    session.rules("prompt prefix npm\n")
    assert offered(session, "npm test", prefix_rule=["npm", "test"]) == []


def test_an_accepted_rule_answers_the_question_from_then_on(session):
    amendment = session.judge("rm -rf build").amendments[0]
    ferrule_amendment(amendment, session.context)
    assert session.judge("rm -rf build").grants
    file = session.home / "rules" / "default.rules"
    assert file.read_text() == 'prefix_rule(pattern=["rm", "-rf", "build"], decision="allow")\n'


def test_a_rule_is_kept_once_however_many_writers_there_are(session):
    amendments = [Amendment("command_prefix", ("make", str(n % 5))) for n in range(40)]
    threads = [
        threading.Thread(target=ferrule_amendment, args=(one, session.context))
        for one in amendments
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (session.home / "rules" / "default.rules").read_text().splitlines()
    assert sorted(lines) == [
        f'prefix_rule(pattern=["make", "{n}"], decision="allow")' for n in range(5)
    ]


def test_a_file_of_plain_lines_stays_one(session):
    session.rules("allow prefix make", "default.rules")
    word = 'a "b" * {c,d} because:x # y'
    ferrule_amendment(Amendment("command_prefix", ("echo", word)), session.context)
    assert (session.home / "rules" / "default.rules").read_text().count("\n") == 2
    assert session.judge("make").grants
    assert session.judge(f"echo {shlex.quote(word)}").grants
    assert session.warnings == []


def test_hosts_are_kept_as_rules_about_the_network(session):
    ferrule_amendment(Amendment("network_host", ("https", "api.test")), session.context)
    text = (session.home / "rules" / "default.rules").read_text()
    assert text.startswith('network_rule(host="api.test", protocol="https", decision="allow"')
    session.judge("ls")
    assert session.warnings == []
