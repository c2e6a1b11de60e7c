"""What a turn may change of its thread, and what the administrator's constraints make of it."""

import json

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.review import Verdict

KEYS = ("sandbox_approval", "rules", "mcp_elicitations")


def touch(path, **arguments):
    return call("touch", json.dumps({"path": str(path), **arguments}))


def play(stage, *calls):
    stage.turns.extend([[*calls, DONE], [*say("ok"), DONE]])


def run_turns(bench, *turns):
    async def script(session):
        for count, params in enumerate(turns, start=1):
            await bench.start(session, **params)
            await bench.until("turn/completed", count)

    return bench.run(script)


def statuses(bench):
    return [params["turn"]["status"] for params in bench.of("turn/completed")]


def decisions(bench):
    return [(p["phase"], p["outcome"]["decision"]) for p in bench.of("item/decision")]


def test_a_forbidden_mode_is_not_reached_through_an_approved_escalation(bench, stage, rules):
    rules('allowed_sandbox_modes = ["read-only", "workspace-write"]')
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target, escalate=True))
    stage.reviews.append("accept")

    bench.turn()

    assert not target.exists()
    assert stage.review_requests == []
    assert "danger-full-access" in bench.outputs(stage)["c1"]


def test_nor_after_a_refusal_of_the_sandbox(bench, stage, rules):
    rules('allowed_sandbox_modes = ["workspace-write"]')
    bench.set_key("approval_policy", '"on-failure"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target))
    stage.reviews.append("accept")

    bench.turn()

    assert not target.exists()
    assert stage.review_requests == []


@pytest.mark.parametrize(
    "params",
    [
        {"sandboxPolicy": {"type": "dangerFullAccess"}},
        {"sandboxPolicy": {"type": "externalSandbox"}},
        {"approvalPolicy": "never"},
        {"approvalPolicy": {"granular": dict.fromkeys(KEYS, True)}},
    ],
    ids=["danger", "external", "never", "granular"],
)
def test_a_turn_cannot_ask_for_what_the_administrator_does_not_allow(bench, stage, rules, params):
    rules('allowed_sandbox_modes = ["workspace-write"]\nallowed_approval_policies = ["on-request"]')
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target))

    run_turns(bench, params, {})

    assert statuses(bench) == ["failed", "completed"]
    assert "administrator" in bench.of("turn/completed")[0]["turn"]["error"]["message"]
    assert not target.exists()


@pytest.mark.parametrize(
    "params",
    [
        {"approvalPolicy": "whenever"},
        {"approvalPolicy": {"granular": {}}},
        {"sandboxPolicy": {"type": "somewhat"}},
        {"cwd": "/nowhere/at/all"},
    ],
    ids=["approval", "granular", "sandbox", "cwd"],
)
def test_a_setting_that_makes_no_sense_fails_its_turn_and_changes_nothing(bench, stage, params):
    play(stage, touch(bench.workspace / "a.txt"))

    run_turns(bench, params, {})

    assert statuses(bench) == ["failed", "completed"]
    assert len(bench.of("turn/started")) == 2
    assert (bench.workspace / "a.txt").exists()


def test_a_policy_of_the_first_turn_is_told_to_the_model(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    run_turns(bench, {"sandboxPolicy": {"type": "readOnly"}})

    told = str(stage.requests[0].input)
    assert told.rindex("Sandbox: readOnly") > told.index("Sandbox: workspaceWrite")


def test_a_rollback_takes_back_what_was_told_but_not_what_holds(bench, stage):
    stage.turns.extend([[*say("a"), DONE], [*say("b"), DONE]])

    async def script(session):
        await bench.start(session, sandboxPolicy={"type": "readOnly"})
        await bench.until("turn/completed")
        params = {"threadId": session.thread["id"], "numTurns": 1}
        await session.submit({"id": "3", "method": "thread/rollback", "params": params})
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert "Sandbox: readOnly" in str(stage.requests[1].input)


def test_the_backend_is_chosen_by_the_policy_of_the_turn(bench, stage):
    bench.set_key("sandbox_mode", '"danger-full-access"')
    play(stage, touch(bench.workspace / "a.txt"))

    run_turns(bench, {"sandboxPolicy": {"type": "readOnly"}})

    assert stage.backends == ["staged"]
    assert not (bench.workspace / "a.txt").exists()


def test_an_output_schema_is_for_its_turn_only(bench, stage):
    stage.turns.extend([[*say("{}"), DONE], [*say("ok"), DONE]])

    run_turns(bench, {"outputSchema": {"type": "object"}}, {})

    assert [request.output_schema for request in stage.requests] == [{"type": "object"}, None]


def test_no_tool_leaves_the_sandbox_by_its_own_word(bench, stage):
    target = bench.folder / "outside.txt"
    play(stage, touch(target, escalate="unasked"))

    bench.turn()

    assert not target.exists()
    assert ("requirement", "decline") in decisions(bench)


def test_a_reviewer_asked_by_a_plugin_learns_that_the_call_leaves_the_sandbox(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    stage.hooks["ferrule_tool_before"] = Verdict.ask("look at this")
    play(stage, touch(bench.folder / "outside.txt", escalate="unasked"))
    stage.reviews.append("decline")

    bench.turn()

    assert stage.review_requests[0].escalation is True


def test_an_acceptance_holds_in_its_folder_only(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    other = bench.folder / "other"
    other.mkdir()
    play(stage, touch(bench.folder / "a.txt", escalate=True))
    play(stage, touch(bench.folder / "a.txt", escalate=True))
    stage.reviews.extend(["acceptForSession", "decline"])

    run_turns(bench, {}, {"cwd": str(other)})

    assert len(stage.review_requests) == 2


def test_an_acceptance_holds_under_its_sandbox_policy_only(bench, stage):
    bench.set_key("approval_policy", '"untrusted"')
    play(stage, touch(bench.workspace / "a.txt"))
    play(stage, touch(bench.workspace / "a.txt"))
    stage.reviews.extend(["acceptForSession", "decline"])

    run_turns(bench, {}, {"sandboxPolicy": {"type": "dangerFullAccess"}})

    assert len(stage.review_requests) == 2


def test_an_acceptance_of_a_rewritten_call_covers_its_new_arguments_only(bench, stage):
    bench.set_key("approval_policy", '"untrusted"')

    def rewrite(call, turn):
        path = str(bench.workspace / {"c1": "a.txt", "c2": "b.txt"}[call.call_id])
        return call._replace(tool="touch", arguments={"path": path})

    async def decide(request, context):
        return "acceptForSession" if request.call.call_id == "c1" else "decline"

    stage.hooks["ferrule_tool_rewrite"] = rewrite
    play(stage, call("note"), call("note", id_="c2"))
    stage.reviews.extend([decide, decide])

    bench.turn()

    assert len(stage.review_requests) == 2
    assert all(json.loads(r.call.text) == dict(r.call.arguments) for r in stage.review_requests)
    assert not (bench.workspace / "b.txt").exists()


GRANULAR = dict.fromkeys(KEYS, False)


@pytest.mark.parametrize(
    ("granted", "asked"),
    [("sandbox_approval", ["it wants to write outside"]), ("rules", ["a rule says so"])],
)
def test_granular_tells_questions_of_the_sandbox_from_those_of_rules(bench, stage, granted, asked):
    def judge(call, turn, context):
        return Verdict.ask("a rule says so") if call.call_id == "c2" else None

    stage.hooks["ferrule_tool_before"] = judge
    outside = bench.folder / "outside.txt"
    play(stage, touch(outside, escalate=True), call("note", id_="c2"))
    stage.reviews.append("decline")

    run_turns(bench, {"approvalPolicy": {"granular": GRANULAR | {granted: True}}})

    assert [request.reason for request in stage.review_requests] == asked
    assert stage.ran == []


def test_granular_asks_after_a_refusal_of_the_sandbox(bench, stage):
    target = bench.folder / "outside.txt"
    play(stage, touch(target))
    stage.reviews.append("accept")

    run_turns(bench, {"approvalPolicy": {"granular": GRANULAR | {"sandbox_approval": True}}})

    assert target.exists()


def test_the_kernel_s_own_sandbox_is_bound_by_the_administrator_too(bench, stage, rules):
    from ferrule_hookspecs.errors import ConfigError

    rules('allowed_sandbox_modes = ["workspace-write"]')

    async def main(kernel):
        config = kernel.config(ConfigRequest(cwd=str(bench.workspace)))
        with pytest.raises(ConfigError, match="administrator"):
            kernel.sandbox(config, str(bench.workspace), mode="danger-full-access")

    bench.host.run(main)
