"""Many reviews of one session: what is remembered, what is sent again, and when it is enough."""

import anyio
import pytest

from ferrule_hookspecs.egress import HostAccess

from .conftest import called, returned, said, verdict

DENY = verdict("deny", "high", "unknown", "no")


def texts(request):
    return [item["content"][0]["text"] for item in request.input]


def test_a_later_review_brings_only_what_is_new_after_the_same_bytes(desk):
    guardian = desk()
    guardian.user("install it")
    guardian.model.answers = [verdict()] * 3

    guardian.review("make install")
    guardian.user("and again, with care")
    guardian.review("make install PREFIX=/usr")
    guardian.review("make clean")

    first, second, third = (request.input for request in guardian.model.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert second[len(first)]["role"] == "assistant"
    assert [r["text"] for r in guardian.records(1) if r["origin"] == "user"] == [
        "and again, with care"
    ]
    assert "install it" not in guardian.sent(1)


def test_after_the_history_was_shortened_it_begins_anew_and_keeps_the_users_words(desk):
    guardian = desk()
    guardian.user("never push to main")
    guardian.model.answers = [verdict()] * 2

    guardian.review("make one")
    guardian.history[:] = [said("user", "summary: the user allows pushing to main")]
    guardian.review("git push")

    assert len(guardian.model.requests[1].input) == 2
    kinds = [(r["origin"], r["text"]) for r in guardian.records(1)][:2]
    assert kinds == [
        ("user", "never push to main"),
        ("context", "summary: the user allows pushing to main"),
    ]


def test_a_conversation_that_grew_long_begins_anew(desk):
    guardian = desk()
    guardian.model.answers = [verdict()] * 12
    sizes = []
    for number in range(12):
        for part in range(9):
            call_id = f"old{number}.{part}"
            guardian.history += [called(call_id=call_id), returned("x" * 9_000, call_id)]
        guardian.review(f"make {number}")
        sizes.append(sum(map(len, texts(guardian.model.requests[-1]))))

    assert max(sizes) < 4 * 90_000
    assert sizes != sorted(sizes)


def test_a_failed_review_leaves_the_conversation_as_it_was(desk):
    guardian = desk()
    guardian.model.answers = ["garbage", verdict()]

    guardian.review("make one")
    guardian.review("make two")

    assert len(guardian.model.requests[1].input) == 2
    assert "garbage" not in str(guardian.model.requests[1].input)


def test_reviews_at_the_same_time_do_not_mix(desk):
    guardian = desk()
    guardian.model.answers = [verdict()] * 3

    async def both():
        async with anyio.create_task_group() as group:
            group.start_soon(guardian.areview, "make one")
            group.start_soon(guardian.areview, "make two")
        await guardian.areview("make three")

    anyio.run(both)

    inputs = [request.input for request in guardian.model.requests]
    assert [len(each) for each in inputs] == [2, 2, 4]
    assert inputs[2][:2] in (inputs[0], inputs[1])
    assert all(command in str(inputs[2]) for command in ("make one", "make two", "make three"))


def test_the_same_action_is_not_paid_for_twice(desk):
    guardian = desk()
    guardian.model.answers = [verdict()]

    outcomes = [guardian.review("make install") for _ in range(3)]

    assert [outcome["decision"] for outcome in outcomes] == ["accept"] * 3
    assert len(guardian.model.requests) == 1
    assert outcomes[2]["rule"] == "remembered"
    assert "usage" not in outcomes[2]["details"]


@pytest.mark.parametrize(
    "change",
    [
        {"cwd": "/other"},
        {"escalation": False},
        {"network": HostAccess("evil.test", 443, "https")},
    ],
    ids=["folder", "sandbox", "connection"],
)
def test_an_action_that_differs_is_reviewed(desk, change):
    guardian = desk()
    guardian.model.answers = [verdict()] * 2

    guardian.review("make install")
    guardian.review("make install", **change)

    assert len(guardian.model.requests) == 2


def test_new_words_of_the_user_end_every_remembered_verdict(desk):
    guardian = desk()
    guardian.model.answers = [DENY, verdict()]

    assert guardian.review("git push")["decision"] == "decline"
    guardian.user("yes, push it")
    assert guardian.review("git push")["decision"] == "accept"


def test_an_allowed_script_is_reviewed_again_once_something_else_was_done(desk):
    guardian = desk()
    guardian.model.answers = [verdict(), DENY]

    guardian.review("./run.sh")
    guardian.history += [called("exec_command", '{"cmd": "edit run.sh"}'), returned("done")]

    assert guardian.review("./run.sh")["decision"] == "decline"


def test_a_look_around_ends_no_verdict_and_a_refusal_outlives_other_work(desk):
    guardian = desk()
    guardian.model.answers = [verdict(), DENY]
    guardian.review("./run.sh")
    guardian.history += [called("read_file", "{}"), returned("text")]
    assert guardian.review("./run.sh")["rule"] == "remembered"

    guardian.review("git push")
    guardian.history += [called("exec_command", '{"cmd": "ls"}'), returned("x")]
    assert guardian.review("git push")["rule"] == "remembered"


def test_failures_are_not_remembered(desk):
    guardian = desk()
    guardian.model.answers = ["garbage", verdict()]

    assert guardian.review("make")["decision"] == "decline"
    assert guardian.review("make")["decision"] == "accept"


def test_three_refusals_in_a_row_end_the_turn(desk):
    guardian = desk()
    guardian.model.answers = [DENY] * 3

    decisions = [guardian.review(f"push {number}") for number in range(3)]

    assert [each["decision"] for each in decisions] == ["decline", "decline", "cancel"]
    assert "3 actions in a row were refused" in decisions[2]["reason"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, None),
        ({"circuit_break_action": "default"}, None),
        ({"circuit_break_action": "strict"}, "tooManyDenials"),
    ],
    ids=["unset", "default", "strict"],
)
def test_only_strict_has_the_turn_end_with_an_error_of_its_own(desk, settings, told):
    guardian = desk(**settings)
    guardian.model.answers = [DENY] * 3

    decisions = [guardian.review(f"push {number}") for number in range(3)]

    assert decisions[2]["decision"] == "cancel"
    assert decisions[2].get("errorInfo") == told
    assert "errorInfo" not in decisions[1]


def test_ten_refusals_of_the_last_fifty_end_the_turn(desk):
    guardian = desk()
    pattern = [DENY, verdict()] * 9 + [DENY]
    guardian.model.answers = list(pattern)

    decisions = [guardian.review(f"try {n}")["decision"] for n in range(len(pattern))]

    assert decisions[:-1] == ["decline", "accept"] * 9
    assert decisions[-1] == "cancel"


def test_another_turn_starts_counting_anew(desk):
    guardian = desk()
    guardian.model.answers = [DENY] * 3

    guardian.review("one")
    guardian.review("two")
    guardian.turn_id = "next"

    assert guardian.review("three")["decision"] == "decline"


def test_what_nobody_is_there_to_decide_counts_as_refused(desk):
    guardian = desk()

    decisions = [guardian.review("rm -rf /")["decision"] for _ in range(3)]

    assert decisions == ["decline", "decline", "cancel"]


def test_failed_reviews_do_not_end_the_turn(desk):
    guardian = desk()
    guardian.model.answers = ["garbage"] * 5

    assert {guardian.review(f"x {n}")["decision"] for n in range(5)} == {"decline"}
