"""A panel asks its members, combines what they say, and records who said what."""

import anyio
import pytest

from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import Amendment, ReviewContext, ReviewRequest, Verdict
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_panel.reviewer import PanelReviewer

CALL = ToolCall("call_1", "exec_command", {"cmd": "make"}, '{"cmd": "make"}', "function")
REQUEST = ReviewRequest("thread", "turn", CALL, None, "it writes outside", "/work")
LEFT_OPEN = {"decision": "decline", "escalates": True}
GIT = Amendment("command_prefix", ("git",))


class Says:
    """Answers the same each time."""

    def __init__(self, answer):
        self.answer = answer if isinstance(answer, dict) else {"decision": answer}

    async def review(self, request, context):
        return {"reviewer": "says", "reason": f"I say {self.answer['decision']}", **self.answer}


class Raises:
    async def review(self, request, context):
        raise ValueError("out of order")


class Returns:
    def __init__(self, answer):
        self.answer = answer

    async def review(self, request, context):
        return self.answer


class Hangs:
    def __init__(self):
        self.began, self.cancelled = anyio.Event(), False

    async def review(self, request, context):
        self.began.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            self.cancelled = True
            raise


class After:
    """Answers when another has begun."""

    def __init__(self, other, answer):
        self.other, self.says = other, Says(answer)

    async def review(self, request, context):
        await self.other.began.wait()
        return await self.says.review(request, context)


def panel(name="panel", environ=None, **settings):
    context = PluginContext("/home", {}, settings=settings, name=name, environ=environ or {})
    return PanelReviewer(context)


def decide(settings, request=REQUEST, **reviewers):
    made = {
        name.replace("__", ":"): Says(one) if isinstance(one, (str, dict)) else one
        for name, one in reviewers.items()
    }

    def find(name):
        if name not in made:
            raise PluginError(f"no plugin {name!r} is installed for reviewers")
        return made[name]

    async def main():
        with anyio.fail_after(120):
            return await panel(**settings).review(request, ReviewContext(reviewer=find))

    return anyio.run(main)


def of(mode, *members, **more):
    return {"mode": mode, "members": list(members), **more}


@pytest.mark.parametrize(
    ("settings", "answers", "decision"),
    [
        (of("all_of", "a", "b"), ("accept", "accept"), "accept"),
        (of("all_of", "a", "b"), ("accept", "decline"), "decline"),
        (of("any_of", "a", "b"), ("decline", "accept"), "accept"),
        (of("any_of", "a", "b"), ("decline", "decline"), "decline"),
        (of("k_of_n", "a", "b", "c", k=2), ("accept", "decline", "accept"), "accept"),
        (of("k_of_n", "a", "b", "c", k=2), ("accept", "decline", "decline"), "decline"),
        (of("veto", "a", "b"), ("accept", LEFT_OPEN), "accept"),
        (of("veto", "a", "b"), ("accept", "decline"), "decline"),
        (of("chain", "a", "b"), (LEFT_OPEN, "accept"), "accept"),
        (of("chain", "a", "b"), ("decline", "accept"), "decline"),
        (of("all_of", "a", "b"), ("accept", "cancel"), "cancel"),
        (of("all_of", "a", "b"), ("acceptForSession", "accept"), "accept"),
        (of("all_of", "a", "b"), ("acceptForSession", "acceptForSession"), "acceptForSession"),
    ],
    ids=lambda value: value["mode"] if isinstance(value, dict) and "mode" in value else None,
)
def test_the_mode_decides_what_answers_come_to(settings, answers, decision):
    outcome = decide(settings, **dict(zip("abc", answers, strict=False)))

    assert outcome["decision"] == decision
    assert outcome["reviewer"] == "panel"
    assert "escalates" not in outcome


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Raises(), "ValueError: out of order"),
        (Hangs(), "did not answer within 0.05 s"),
        (Returns(None), "NoneType"),
        (Returns({"decision": "accept"}), "no text"),
        (Returns({"decision": "yes", "reason": ""}), "'yes'"),
        (Returns({"decision": "accept", "reason": "", "escalates": True}), "left it open"),
        (None, "no plugin 'b' is installed"),
    ],
    ids=["raises", "hangs", "nothing", "half", "garbage", "contradiction", "missing"],
)
def test_a_member_that_fails_has_declined(broken, told):
    members = {"a": "accept", **({} if broken is None else {"b": broken})}

    outcome = decide(of("all_of", "a", "b", deadline_ms=50), **members)

    assert outcome["decision"] == "decline"
    assert told in outcome["reason"]
    assert [(v["reviewer"], v["decision"]) for v in outcome["details"]["votes"]] == [
        ("a", "accept"),
        ("b", "failed"),
    ]


@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_a_person_speaks_for_a_member_that_failed_where_that_is_configured(answer):
    settings = of("all_of", "a", "b", fallback="user")

    outcome = decide(settings, a="accept", b=Raises(), user=answer)

    assert outcome["decision"] == answer


def test_a_person_is_not_asked_where_that_changes_nothing():
    outcome = decide(of("all_of", "a", "b", fallback="user"), a="decline", b=Raises())

    assert outcome["decision"] == "decline"
    assert "user" not in str(outcome)


def test_where_no_person_can_be_asked_it_is_declined():
    outcome = decide(of("all_of", "a", fallback="user"), a=Raises())

    assert outcome["decision"] == "decline"
    assert "escalates" not in outcome


@pytest.mark.parametrize(
    ("on_escalate", "decision", "leaves_open"),
    [("", "decline", True), ("decline", "decline", False), ("boss", "accept", False)],
    ids=["further up", "decline", "another"],
)
def test_what_members_leave_open_goes_where_it_is_configured(on_escalate, decision, leaves_open):
    settings = of("all_of", "a", "b", on_escalate=on_escalate)

    outcome = decide(settings, a="accept", b=LEFT_OPEN, boss="accept")

    assert outcome["decision"] == decision
    assert outcome.get("escalates", False) is leaves_open


def test_who_decides_in_the_end_reads_what_the_members_said():
    class Reads:
        async def review(self, request, context):
            return {"decision": "accept", "reviewer": "boss", "reason": request.reason}

    outcome = decide(of("all_of", "a", on_escalate="boss"), a=LEFT_OPEN, boss=Reads())

    assert outcome["reason"] == "boss: it writes outside (a: escalate: I say decline)"


def test_a_panel_may_be_a_member():
    inner = panel("panel:inner", mode="any_of", members=["a", "b"])

    outcome = decide(
        of("all_of", "panel:inner", "c"), panel__inner=inner, a="decline", b="accept", c="accept"
    )

    assert outcome["decision"] == "accept"
    assert "b: accept" in str(outcome["details"]["votes"][0]["evidence"])


def test_members_are_asked_at_once_and_those_who_cannot_matter_any_more_are_cancelled():
    slow = Hangs()

    outcome = decide(of("all_of", "slow", "fast"), slow=slow, fast=After(slow, "decline"))

    assert outcome["decision"] == "decline"
    assert slow.cancelled
    assert {"reviewer": "slow", "decision": "notNeeded"} in outcome["details"]["votes"]


def test_a_chain_asks_nobody_after_the_one_who_decides():
    outcome = decide(of("chain", "a", "b"), a="accept", b=Raises())

    assert outcome["decision"] == "accept"
    assert outcome["details"]["votes"][1] == {"reviewer": "b", "decision": "notNeeded"}


@pytest.mark.parametrize("shadow", ["accept", "decline", "cancel", Raises()])
@pytest.mark.parametrize("decision", ["accept", "decline"])
def test_a_shadow_is_recorded_and_never_decides(shadow, decision):
    outcome = decide(of("all_of", "a", shadow=["s"]), a=decision, s=shadow)

    assert outcome["decision"] == decision
    assert outcome["details"]["votes"][1]["shadow"] is True
    assert "(shadow)" in outcome["evidence"][1]
    assert outcome["reason"] == f"a: I say {decision}"


def test_a_shadow_never_bothers_the_person():
    class Asks:
        async def review(self, request, context):
            return {"reviewer": "asks", "reason": "asked", **await context.ask_client({})}

    outcome = decide(of("all_of", "a", shadow=["s"]), a="accept", s=Asks())

    assert outcome["details"]["votes"][1]["decision"] == "decline"


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (["command_prefix", "git"], ["command_prefix", "git"], ["command_prefix", "git"]),
        (["command_prefix", "git"], None, None),
        (["command_prefix", "rm"], ["command_prefix", "rm"], None),
    ],
    ids=["agreed", "not agreed", "not offered"],
)
def test_an_amendment_counts_where_all_who_decide_agree_on_one_that_was_offered(
    first, second, kept
):
    answers = [
        {"decision": "accept", **({"amendment": one} if one else {})} for one in (first, second)
    ]

    outcome = decide(
        of("all_of", "a", "b"), REQUEST._replace(amendments=(GIT,)), a=answers[0], b=answers[1]
    )

    assert outcome["decision"] == "accept"
    assert outcome.get("amendment") == kept


def test_the_outcome_says_who_said_what_and_how_long_it_took():
    outcome = decide(of("all_of", "a", "b"), a="accept", b={"decision": "decline", "rule": "r7"})

    said = outcome["details"]["votes"][1]
    assert said["rule"] == "r7"
    assert isinstance(said["latencyMs"], int)
    assert outcome["evidence"][1].startswith("b: decline in ")
    assert outcome["rule"] == "panel all_of"


def change(path, **kind):
    return {"path": path, "kind": kind or {"type": "add"}, "diff": ""}


def patch(*changes):
    item = {"type": "fileChange", "id": "call_1", "changes": list(changes), "status": "inProgress"}
    call = CALL._replace(tool="apply_patch")
    return REQUEST._replace(call=call, item=item)


def asking(*rules):
    return REQUEST._replace(verdicts={rule: Verdict.ask("why", rule) for rule in rules})


ROUTED = {
    "escalation": ({"escalation": True}, REQUEST._replace(escalation=True), REQUEST),
    "tool": ({"tool": ["apply_*"]}, patch(change("/x/a")), REQUEST),
    "rule": ({"rule": 'prefix_rule(["rm"])'}, asking('prefix_rule(["rm"])'), asking("git*")),
    "cwd": ({"directory": "/work"}, REQUEST, REQUEST._replace(cwd="/workshop")),
    "path": ({"directory": "~/infra"}, patch(change("/root-home/infra/a")), patch(change("/x/a"))),
}


@pytest.mark.parametrize(("match", "hit", "miss"), ROUTED.values(), ids=ROUTED)
def test_a_route_counts_for_what_it_matches(match, hit, miss):
    routed = of("all_of", "a", routes=[{"members": ["b"], **match}])
    settings = {**routed, "environ": {"HOME": "/root-home"}}

    assert decide(settings, hit, a="decline", b="accept")["decision"] == "accept"
    assert decide(settings, miss, a="decline", b="accept")["decision"] == "decline"


@pytest.mark.parametrize(
    "request_",
    [
        patch(change("/scratch/a"), change("/etc/passwd")),
        patch(change("/scratch/a", type="update", move_path="/etc/passwd")),
        patch(change("/scratch/../etc/passwd")),
        asking("lax", "other")._replace(cwd="/scratch"),
    ],
    ids=["another file", "moved away", "dots", "another rule"],
)
def test_one_harmless_part_never_decides_for_the_rest(request_):
    rule = {"rule": "lax"} if request_.verdicts else {}
    routes = [{"members": ["lax"], "directory": "/scratch", **rule}]

    outcome = decide(
        of("all_of", "strict", routes=routes), request_, lax="accept", strict="decline"
    )

    assert outcome["decision"] == "decline"


COUNTS = (
    "totalTokens",
    "inputTokens",
    "cachedInputTokens",
    "cacheWriteInputTokens",
    "outputTokens",
    "reasoningOutputTokens",
)


def used(decision, tokens):
    return {"decision": decision, "details": {"usage": dict.fromkeys(COUNTS, tokens)}}


def test_what_the_models_of_its_members_used_is_told_as_one_count():
    outcome = decide(
        of("all_of", "a", "b", "c", shadow=["d"]),
        a=used("accept", 5),
        b=used("accept", 7),
        c={"decision": "accept", "details": {"usage": {"totalTokens": "many"}}},
        d=used("decline", 100),
    )
    assert outcome["details"]["usage"] == dict.fromkeys(COUNTS, 112)


def test_without_any_such_count_there_is_none():
    assert "usage" not in decide(of("all_of", "a"), a="accept")["details"]


def test_the_error_that_a_turn_ends_with_is_handed_on():
    ended = {"decision": "cancel", "errorInfo": "tooManyDenials"}
    outcome = decide(of("all_of", "a", "b"), a="accept", b=ended)
    assert outcome["decision"] == "cancel"
    assert outcome["errorInfo"] == "tooManyDenials"
