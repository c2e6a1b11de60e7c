"""Reviewers have settings and instances, ask each other by name, and leave decisions open."""

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.errors import FerruleError

OPEN = {"decision": "decline", "escalates": True}


def tables(**asks):
    """Instances of `asking`, by whom they ask."""
    lines = []
    for name, asked in asks.items():
        key = "asking" if name == "asking" else f"asking.{name}"
        lines += [f"[reviewers.{key}]", *asked]
    return "\n".join(lines)


def ask(bench, stage, reviewer, settings="", *, reviews=()):
    """Run a turn whose only call needs approval; returns who decided what, and why."""
    bench.set_key("approval_policy", '"on-request"')
    bench.set_key("approvals_reviewer", f'"{reviewer}"')
    path = bench.host.home / "config.toml"
    path.write_text(f"{path.read_text()}\n{settings}\n")
    stage.turns.extend([[call("touch", '{"path": "/x", "escalate": true}'), DONE]])
    stage.turns.append([*say("ok"), DONE])
    stage.reviews.extend(reviews)
    bench.turn()
    (outcome,) = [p["outcome"] for p in bench.of("item/decision") if p["phase"] == "review"]
    return outcome


def test_a_reviewer_asks_another_by_its_name(bench, stage):
    outcome = ask(bench, stage, "asking", tables(asking=['asks = "staged"']), reviews=["decline"])

    assert outcome["reviewer"] == "asking by staged"


def test_an_instance_has_settings_and_a_name_of_its_own(bench, stage):
    settings = tables(one=['asks = "asking:two"'], two=['asks = "staged"'])

    outcome = ask(bench, stage, "asking:one", settings, reviews=["decline"])

    assert outcome["reviewer"] == "asking:one by asking:two by staged"


@pytest.mark.parametrize(
    ("reviewer", "settings", "told"),
    [
        ("asking:one", "", "[reviewers.asking.one]"),
        ("asking", tables(asking=['asks = "nobody"']), "no plugin 'nobody' is installed"),
        ("asking", tables(asking=['asks = "asking:x"']), "[reviewers.asking.x]"),
        ("asking", tables(asking=['asks = "asking"']), "circle: asking -> asking"),
        (
            "asking:one",
            tables(one=['asks = "asking:two"'], two=['asks = "asking:one"']),
            "circle: asking:one -> asking:two -> asking:one",
        ),
    ],
    ids=["no settings", "missing member", "member without settings", "itself", "circle"],
)
def test_a_reviewer_that_cannot_work_is_told_when_the_session_opens(
    bench, stage, reviewer, settings, told
):
    with pytest.raises(FerruleError) as caught:
        ask(bench, stage, reviewer, settings)

    assert told in str(caught.value)
    assert stage.requests == []


def test_a_circle_that_was_not_declared_is_a_refusal(bench, stage):
    secret = "in_secret = true"
    settings = tables(one=['asks = "asking:two"', secret], two=['asks = "asking:one"', secret])

    outcome = ask(bench, stage, "asking:one", settings)

    assert outcome["decision"] == "decline"
    assert "in a circle: asking:two -> asking:one -> asking:two" in outcome["reason"]


@pytest.mark.parametrize("fault", [ValueError("broken"), SystemExit(3), "yes"], ids=repr)
def test_a_member_that_fails_is_a_refusal_that_names_it(bench, stage, fault):
    outcome = ask(bench, stage, "asking", tables(asking=['asks = "staged"']), reviews=[fault])

    assert outcome["decision"] == "decline"
    assert "staged" in outcome["reason"] or "yes" in outcome["reason"]


def test_what_a_reviewer_leaves_open_is_put_before_a_person(bench, stage):
    outcome = ask(bench, stage, "staged", reviews=[OPEN])

    assert outcome["decision"] == "decline"
    assert outcome["reviewer"] == "user"
    assert outcome["evidence"] == ["staged left it open: the stage says so"]


def test_a_member_that_the_administrator_does_not_allow_stops_the_session(bench, stage, rules):
    rules('allowed_approvals_reviewers = ["asking"]')

    with pytest.raises(FerruleError, match=r"cannot be 'staged'.*allows only asking"):
        ask(bench, stage, "asking", tables(asking=['asks = "staged"']))


def test_a_member_that_was_not_declared_is_held_to_what_the_administrator_allows(
    bench, stage, rules
):
    rules('allowed_approvals_reviewers = ["asking"]')
    settings = tables(asking=['asks = "staged"', "in_secret = true"])

    outcome = ask(bench, stage, "asking", settings)

    assert outcome["decision"] == "decline"
    assert "cannot be 'staged'" in outcome["reason"]


def test_a_person_may_always_be_asked(bench, stage, rules):
    rules('allowed_approvals_reviewers = ["staged"]')

    assert ask(bench, stage, "staged", reviews=[OPEN])["reviewer"] == "user"
