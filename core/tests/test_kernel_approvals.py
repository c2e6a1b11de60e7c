"""The orchestrator: who is asked, who decides, and that nothing runs before it was decided."""

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.review import Verdict

OUTSIDE = "/opt/ferrule-test-outside"


def touch(path, **arguments):
    import json

    return call("touch", json.dumps({"path": str(path), **arguments}))


def play(stage, *calls):
    stage.turns.extend([[*calls, DONE], [*say("ok"), DONE]])


def decisions(bench):
    return [
        (p["phase"], p["outcome"]["decision"], p["outcome"]["reviewer"])
        for p in bench.of("item/decision")
    ]


def test_a_write_in_the_workspace_needs_nobody(bench, stage):
    play(stage, touch(bench.workspace / "a.txt"))

    bench.turn()

    assert (bench.workspace / "a.txt").read_text() == "touched"
    assert decisions(bench) == [("requirement", "accept", "policy")]


def test_a_write_outside_is_refused_by_the_sandbox_and_told(bench, stage):
    play(stage, touch(OUTSIDE))

    bench.turn()

    assert "touched" not in bench.outputs(stage)["c1"]
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


def test_under_never_a_wider_permission_is_refused_without_asking(bench, stage):
    play(stage, touch(OUTSIDE, escalate=True))

    bench.turn()

    assert stage.ran == []
    assert stage.review_requests == []
    assert "rejected by user approval settings" in bench.outputs(stage)["c1"]
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


@pytest.mark.parametrize(
    ("decision", "ran"), [("accept", True), ("acceptForSession", True), ("decline", False)]
)
def test_the_reviewer_decides_about_a_wider_permission(bench, stage, decision, ran):
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target, escalate=True))
    stage.reviews.append(decision)

    bench.turn()

    assert target.exists() is ran
    assert ("review", decision, "staged") in decisions(bench)
    (request,) = stage.review_requests
    assert request.escalation is True
    assert request.reason == "it wants to write outside"


def test_cancel_ends_the_turn(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    stage.turns.append([touch(OUTSIDE, escalate=True), DONE])
    stage.reviews.append("cancel")

    bench.turn()

    assert stage.ran == []
    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"


@pytest.mark.parametrize(
    "fault", [RuntimeError("broken"), "yes please"], ids=["raises", "nonsense"]
)
def test_a_faulty_reviewer_refuses(bench, stage, fault):
    bench.set_key("approval_policy", '"on-request"')
    play(stage, touch(OUTSIDE, escalate=True))
    stage.reviews.append(fault)

    bench.turn()

    assert stage.ran == []
    assert bench.items("dynamicToolCall")[0]["status"] == "failed"


def test_what_was_accepted_for_the_session_is_not_asked_again(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    stage.turns.extend(
        [
            [touch(target, escalate=True), DONE],
            [touch(target, escalate=True), DONE],
            [*say("ok"), DONE],
        ]
    )
    stage.reviews.append("acceptForSession")

    bench.turn()

    assert len(stage.ran) == 2
    assert len(stage.review_requests) == 1


def test_an_acceptance_covers_that_very_call_only(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    first, second = bench.folder / "one.txt", bench.folder / "two.txt"
    stage.turns.extend(
        [
            [touch(first, escalate=True), DONE],
            [touch(second, escalate=True), DONE],
            [*say("ok"), DONE],
        ]
    )
    stage.reviews.extend(["acceptForSession", "decline"])

    bench.turn()

    assert first.exists()
    assert not second.exists()


def test_after_a_refusal_of_the_sandbox_on_failure_asks_once_and_runs_without(bench, stage):
    bench.set_key("approval_policy", '"on-failure"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target))
    stage.reviews.append("accept")

    bench.turn()

    assert target.exists()
    assert len(stage.ran) == 2
    assert ("escalation", "accept", "staged") in decisions(bench)
    assert stage.review_requests[0].denial is not None
    assert stage.review_requests[0].reason.startswith("the sandbox refused it (")


def test_a_refusal_that_was_only_concluded_is_called_probable(bench, stage):
    bench.set_key("approval_policy", '"on-failure"')
    play(stage, call("refused", '{"denied": true}'))
    stage.reviews.extend(["accept", "decline"])

    bench.turn()

    asked = stage.review_requests[1].reason
    assert asked.startswith("the sandbox probably refused it (it seems read-only); run it")


def test_untrusted_asks_about_everything_that_may_change_something(bench, stage):
    bench.set_key("approval_policy", '"untrusted"')
    play(stage, call("note", id_="c0"), touch(bench.workspace / "a.txt"))
    stage.reviews.append("decline")

    bench.turn()

    assert bench.outputs(stage)["c0"] == "noted None"
    assert not (bench.workspace / "a.txt").exists()
    assert len(stage.review_requests) == 1


def test_a_forbidden_call_never_runs_whatever_the_policy(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    play(stage, touch(bench.workspace / "a.txt", forbidden=True))

    bench.turn()

    assert stage.ran == []
    assert stage.review_requests == []


def test_r13_the_strictest_opinion_wins_over_the_tool_s_own(bench, stage):
    stage.hooks["ferrule_tool_before"] = Verdict.deny("not today", rule="r1")
    play(stage, touch(bench.workspace / "a.txt"))

    bench.turn()

    assert stage.ran == []
    assert bench.outputs(stage)["c1"] == "not today"


def test_r06_a_fault_in_an_assessing_hook_refuses_the_call(bench, stage):
    stage.hooks["ferrule_tool_before"] = RuntimeError("broken judge")
    play(stage, touch(bench.workspace / "a.txt"))

    bench.turn()

    assert stage.ran == []
    assert "broken judge" in bench.outputs(stage)["c1"]


def test_r14_what_the_reviewer_saw_is_what_ran_and_cannot_be_changed(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    play(stage, touch(bench.folder / "outside.txt", escalate=True, nested={"list": [1, {"a": 2}]}))

    def meddle(request, turn):
        with pytest.raises(AttributeError):
            request.call.text = "something else"
        with pytest.raises(TypeError):
            request.call.arguments["path"] = "/etc/passwd"
        with pytest.raises(TypeError):
            request.call.arguments["nested"]["list"][1]["a"] = 3

    stage.hooks["ferrule_permission_request"] = meddle
    stage.reviews.append("accept")

    bench.turn()

    (seen,), (ran,) = stage.review_requests, stage.ran
    assert seen.call is ran


def test_a_plugin_may_refuse_but_not_replace_the_reviewer(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    play(stage, touch(OUTSIDE, escalate=True))
    stage.hooks["ferrule_permission_request"] = Verdict.allow()
    stage.reviews.append("decline")

    bench.turn()

    assert stage.ran == []


def test_a_client_is_asked_and_its_answer_decides(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target, escalate=True))
    stage.reviews.append("ask the client")

    async def script(session):
        await bench.start(session)
        await bench.until("item/commandExecution/requestApproval")
        (question,) = [e for e in bench.events if "id" in e]
        params = {
            "threadId": session.thread["id"],
            "requestId": question["id"],
            "result": {"decision": "accept"},
        }
        await session.submit({"id": "9", "method": "serverRequest/answer", "params": params})
        await bench.until("turn/completed")

    bench.run(script, can_answer=True)

    assert target.exists()
    assert bench.of("serverRequest/resolved")


def test_a_question_is_withdrawn_when_the_turn_is_interrupted(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    stage.turns.append([touch(OUTSIDE, escalate=True), DONE])
    stage.reviews.append("ask the client")

    async def script(session):
        await bench.start(session)
        await bench.until("item/commandExecution/requestApproval")
        params = {"threadId": session.thread["id"], "turnId": ""}
        await session.submit({"id": "9", "method": "turn/interrupt", "params": params})
        await bench.until("turn/completed")

    bench.run(script, can_answer=True)

    assert bench.of("serverRequest/resolved")
    assert stage.ran == []


def test_a_rewritten_call_is_what_is_judged_and_run(bench, stage):
    def rewrite(call, turn):
        if call.tool == "note":
            return call._replace(tool="touch", arguments={"path": str(bench.workspace / "b.txt")})
        return None

    stage.hooks["ferrule_tool_rewrite"] = rewrite
    play(stage, call("note"))

    bench.turn()

    (ran,) = stage.ran
    assert (ran.tool, ran.requested_tool) == ("touch", "note")
    judged = [a["call"] for name, a in stage.hook_calls if name == "ferrule_tool_before"]
    assert judged == [ran]


def test_every_call_has_a_decision_even_one_that_cannot_be_read(bench, stage):
    unread = [call("nothing_like_it", id_="d"), call("note", "{", id_="e")]
    failing = call("raise_error", id_="b")
    play(stage, call("note", id_="a"), touch(OUTSIDE, escalate=True), failing, *unread)

    bench.turn()

    assert {p["itemId"] for p in bench.of("item/decision")} == {"a", "b", "c1", "d", "e"}


def test_two_sessions_do_not_share_what_was_accepted(bench, stage):
    bench.set_key("approval_policy", '"on-request"')
    target = bench.folder / "outside.txt"
    play(stage, touch(target, escalate=True))
    play(stage, touch(target, escalate=True))
    stage.reviews.extend(["acceptForSession", "decline"])

    async def main(kernel):
        for count in (1, 2):
            session = await kernel.threads.start(bench.options(kernel))
            async with anyio.create_task_group() as group:
                group.start_soon(bench.read, session)
                await bench.start(session)
                await bench.until("turn/completed", count)
                await session.close()

    bench.host.run(main)

    assert len(stage.review_requests) == 2
