"""Laws of the rules: the strictest wins, order never matters, a restricting file never widens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule_rules.judgement import Judge
from ferrule_rules.opinion import Asked, verdict
from ferrule_rules.rule_file import read_rules
from ferrule_rules.sources import together

WORDS = st.sampled_from(["git", "push", "status", "-f", "--force", "rm", "-rf", "x", "ls", "sudo"])
PATTERN = st.lists(WORDS, min_size=1, max_size=3)
COMMAND = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
JOINTS = st.sampled_from([" && ", "; ", " | ", "\n", " > out; ", " $(", " & "])
STRICTNESS = {"allow": 0, None: 1, "ask": 2, "deny": 3}


def lines(*decisions):
    line = st.tuples(st.sampled_from(decisions), st.sampled_from(["prefix", "exact"]), PATTERN)
    shown = line.map(lambda parts: f"{parts[0]} {parts[1]} {' '.join(parts[2])}")
    return st.lists(shown, max_size=4).map(lambda rules: "".join(f"{rule}\n" for rule in rules))


@st.composite
def scripts(draw):
    script = draw(COMMAND)
    for _ in range(draw(st.integers(0, 2))):
        joint = draw(JOINTS)
        script += joint + draw(COMMAND) + (")" if "$(" in joint else "")
    return script


def decided(script, files, asked):
    policy = together([read_rules(f"{n}.rules", text) for n, text in enumerate(files)])
    said = verdict(Judge(policy).script(script), policy, asked)
    return (said.decision if said and (said.grants or said.decision != "allow") else None), said


ASKED = st.builds(Asked, st.sampled_from(["on-request", "untrusted", "never"]), st.booleans())


@settings(deadline=None, max_examples=150)
@given(scripts(), st.lists(lines("allow", "prompt", "forbidden"), max_size=3), ASKED, st.randoms())
def test_the_order_of_files_never_matters(script, files, asked, random):
    before = decided(script, files, asked)[0]
    random.shuffle(files)
    assert decided(script, files, asked)[0] == before


@settings(deadline=None, max_examples=150)
@given(
    scripts(),
    st.lists(lines("allow", "prompt", "forbidden"), max_size=2),
    lines("prompt", "forbidden"),
    ASKED,
)
def test_a_file_that_only_asks_and_forbids_never_widens(script, files, more, asked):
    before = STRICTNESS[decided(script, files, asked)[0]]
    assert STRICTNESS[decided(script, [*files, more], asked)[0]] >= before


@settings(deadline=None, max_examples=150)
@given(scripts(), st.lists(lines("allow", "prompt", "forbidden"), max_size=2), ASKED)
def test_a_broken_file_never_widens(script, files, asked):
    before = STRICTNESS[decided(script, files, asked)[0]]
    broken = STRICTNESS[decided(script, [*files, "prompt prefix \n"], asked)[0]]
    assert broken >= min(before, STRICTNESS["ask"])


@settings(deadline=None, max_examples=150)
@given(PATTERN.filter(lambda words: words[0][0] != "-"), COMMAND)
def test_forbidden_words_are_forbidden_wherever_they_stand(pattern, around):
    words = " ".join(pattern)
    rules = f"allow prefix {pattern[0]}\nforbidden exact {words}\nforbidden prefix {words}\n"
    asked = Asked("on-request")
    for script in (words, f"{around}; {words}", f"echo $({words})", f"env A=1 {words} > x"):
        assert decided(script, [rules], asked)[0] == "deny", script


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60))
def test_any_text_can_be_judged(script):
    decided(script, ["forbidden prefix rm -rf\nallow prefix ls\n"], Asked("on-request"))


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=80))
def test_any_text_can_be_read_as_rules(text):
    found = read_rules("x.rules", text)
    assert found.flaws or all(rule.pattern for rule in found.rules.rules)


@pytest.mark.parametrize(
    ("rule", "cmd", "wanted"),
    [
        ("rm -rf", "rm -r -f x", True),
        ("rm -rf", "rm -fr x", True),
        ("rm -rf", "rm --recursive --force x", True),
        ("rm -rf", "rm x -rf", True),
        ("rm -rf", "rm -f x", False),
        ("rm -rf", "rm -- -rf", False),
        ("git push --force", "git -C /x push origin --force", True),
        ("git push --force", "git push origin main", False),
        ("git push", "git --no-pager -c a=b push", True),
        ("git push", "git stash push", False),
        ("git push", "git log push", False),
        ("npm install", "npm --prefix x install y", True),
        ("docker run", "docker -H tcp://x run y", True),
        ("kubectl delete", "kubectl -n prod delete pod x", True),
        ("kubectl delete", "kubectl get delete", False),
    ],
)
def test_flags_and_options_are_seen_however_they_are_written(judge, rule, cmd, wanted):
    assert (judge(cmd, f"forbidden prefix {rule}\n").decision == "forbidden") == wanted
