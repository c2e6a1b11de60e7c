"""Calls are judged and reviewers asked outside of any session, and nothing else happens."""

import anyio
import pytest

from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall, TurnInfo


def command(cmd, tool="exec_command"):
    return ToolCall("c", tool, {"cmd": cmd}, "", "function")


def assess(bench, *calls, host=None):
    """Judge calls in the workspace, under the policies a session would have."""

    async def main(kernel):
        config = kernel.config(ConfigRequest(str(bench.workspace)))
        turn = TurnInfo("t", "u", str(bench.workspace), "m", approval_policy="untrusted")
        return [await kernel.assess(config, call, turn) for call in calls]

    return (host or bench.host).run(main)


@pytest.fixture
def rules(bench):
    def write(text, home=None):
        folder = (home or bench.host.home) / "rules"
        folder.mkdir(parents=True)
        (folder / "own.rules").write_text(text)

    return write


def test_only_plugins_that_run_nothing_are_asked(bench, stage, rules):
    rules("forbidden prefix make\nallow prefix tsc\n")

    made, seen = assess(bench, command("make all"), command("tsc --noEmit"))

    assert made.verdicts["rules"].decision == "deny"
    assert seen.verdicts["rules"].grants
    assert "staged" in made.left_out
    assert stage.hook_calls == []


def test_another_home_is_another_policy(bench, rules, tmp_path):
    rules("forbidden prefix make\n")
    other = tmp_path / "other"
    rules("allow prefix make\n", other)

    (here,) = assess(bench, command("make all"))
    (there,) = assess(bench, command("make all"), host=bench.host.at(other))

    assert (here.verdicts["rules"].decision, there.verdicts["rules"].decision) == ("deny", "allow")


def test_defaults_are_filled_in_and_unknown_tools_are_judged_as_they_are(bench):
    note, unknown = assess(bench, command("x", "note"), command("x", "of_another_program"))

    assert (note.verdicts, unknown.verdicts) == ({}, {})
    assert not unknown.is_read_only


def test_a_broken_rules_file_is_told(bench, rules):
    rules("forbidden prefix (((\nallow sideways x\n")

    (found,) = assess(bench, command("make"))

    assert found.notices


def ask(bench, name, context=None):
    async def main(kernel):
        config = kernel.config(ConfigRequest(str(bench.workspace)))
        reviewer = kernel.reviewer(config, name, str(bench.workspace))
        request = ReviewRequest("t", "u", command("make"), None, "why", str(bench.workspace))
        with anyio.fail_after(120):
            return await reviewer.review(request, context or ReviewContext())

    return bench.host.run(main)


def test_a_reviewer_is_lent_a_model_and_other_reviewers(bench, stage):
    seen = []

    async def decide(request, context):
        seen.append((context.provider(""), context.reviewer("asking").name))
        return "decline"

    stage.reviews.append(decide)

    assert ask(bench, "staged")["decision"] == "decline"
    ((provider, other),) = seen
    assert hasattr(provider, "stream")
    assert other == "asking"
    assert stage.closed.count("provider") == 1


def test_a_reviewers_fault_is_an_error_that_names_it(bench, stage):
    async def decide(request, context):
        raise ValueError("no idea")

    stage.reviews.append(decide)

    with pytest.raises(FerruleError, match=r"staged.*no idea"):
        ask(bench, "staged")


def test_a_reviewer_that_is_not_installed_is_named(bench):
    with pytest.raises(FerruleError, match="nobody"):
        ask(bench, "nobody")


def test_reviewers_are_listed(bench):
    async def main(kernel):
        return kernel.reviewers(kernel.config(ConfigRequest(str(bench.workspace))))

    assert {"staged", "user"} <= set(bench.host.run(main))
