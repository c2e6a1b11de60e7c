"""The fewest rules that would have spared the most questions, and none that opens a door."""

import json
import sys

import pytest

from ferrule_policy.prefixes import prefixes, segments

REVIEW = """
import json, sys
cmd = json.load(sys.stdin)["call"]["arguments"]["cmd"]
decision = "decline" if "secret" in cmd else "accept"
print(json.dumps({"decision": decision, "reason": "said the test"}))
"""


@pytest.fixture
def reviewed(thread, ferrule_home):
    """Run commands in `untrusted` mode; whatever names a secret is declined, the rest accepted."""
    program = ferrule_home.path.parent / "review.py"
    program.write_text(REVIEW)
    command = json.dumps([sys.executable, str(program)])
    ferrule_home.configure(tables=f"[reviewers.command.judge]\ncommand = {command}\n")

    def reviewed(*commands):
        reviewer = 'approvals_reviewer="command:judge"'
        return thread(*commands, options=("-a", "untrusted", "-c", reviewer))

    return reviewed


@pytest.fixture
def suggest(ferrule_home):
    def suggest(*arguments):
        finished = ferrule_home.run("policy", "suggest", *arguments)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.splitlines(), finished.stderr

    return suggest


def test_one_rule_spares_what_begins_alike(reviewed, suggest):
    reviewed("touch one", "touch two", "mkdir three && touch four", "ls")

    lines, counted = suggest()

    assert lines == ["allow prefix touch", "allow prefix mkdir three"]
    assert "3 of 3 questions" in counted


def test_what_was_declined_bars_its_prefixes(reviewed, suggest):
    reviewed("touch one", "touch secret", "mkdir x")

    lines, _ = suggest()

    assert lines == ["allow prefix mkdir x", "allow prefix touch one"]


def test_what_is_dangerous_or_too_broad_is_never_proposed(reviewed, suggest):
    reviewed("python3 -V", "git gc", "git push --force", "rm -rf build", "sudo true", "bash x.sh")

    lines, _ = suggest()

    assert lines == ["allow prefix git gc"]


def test_the_lines_are_rules_that_spare_the_questions(reviewed, suggest, ferrule_home, replay):
    reviewed("touch one", "touch two")
    assert replay()["after"] == {"ask": 2}

    for line in suggest()[0]:
        assert ferrule_home.run("rules", "add", line).returncode == 0

    assert replay()["after"] == {"allow": 2}
    assert suggest()[0] == []


def test_programs_read_how_many_each_spares(reviewed, suggest):
    reviewed("touch one", "touch two")

    found = json.loads("\n".join(suggest("--json")[0]))

    assert found["rules"] == [{"line": "allow prefix touch", "spares": 2}]


@pytest.mark.parametrize(
    "script",
    ["a > b", "a $(b)", "a; b &", "a\nb", "if a; then b; fi(", "a 'b", "a |& b", "a *", ""],
)
def test_only_plain_scripts_are_taken_apart(script):
    assert segments(script) is None


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("git push origin", ("git", "push")),
        ("npm run build", ("npm", "run", "build")),
        ("pytest -q", ("pytest",)),
        ("git -C x push", None),
        ("python3.11 x.py", None),
        ("A=1 make", None),
        ("/usr/bin/sudo ls", None),
    ],
)
def test_the_broadest_prefix_says_what_runs(command, first):
    found = prefixes(tuple(command.split()))

    assert (found[0] if found else None) == first
