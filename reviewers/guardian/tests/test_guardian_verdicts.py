"""What the model answers, and what comes of it."""

import pytest

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_guardian.catastrophes import catastrophe

from .conftest import USAGE, verdict

DENIED = verdict("deny", "high", "unknown", "it would send the sources away")


def test_an_allowed_action_is_accepted_and_its_review_accounted_for(desk):
    guardian = desk()
    guardian.model.answers = [verdict()]

    outcome = guardian.review()

    assert outcome["decision"] == "accept"
    assert outcome["reviewer"] == "auto_review"
    assert outcome["details"]["usage"] == USAGE
    assert outcome["details"]["requests"] == 1
    assert outcome["details"]["riskLevel"] == "low"
    assert guardian.model.requests[0].tools == ()
    assert guardian.model.requests[0].thread_id == "guardian:thread"


def test_a_denied_action_is_declined_with_the_reason(desk):
    guardian = desk()
    guardian.model.answers = [DENIED]

    outcome = guardian.review()

    assert outcome["decision"] == "decline"
    assert "it would send the sources away" in outcome["reason"]
    assert "another way" in outcome["reason"]
    assert not outcome.get("escalates")


@pytest.mark.parametrize(
    "answer",
    [
        verdict("allow", "critical", "high"),
        verdict("allow", "critical", "unknown"),
        verdict("allow", "high", "medium"),
        verdict("allow", "high", "unknown"),
        '{"outcome": "allow"}',
        '{"outcome": "allow", "risk_level": "high"}',
        verdict("escalate", "low", "high"),
    ],
    ids=["critical", "critical unasked", "high", "high unasked", "bare", "no auth", "escalate"],
)
def test_what_a_model_may_not_allow_is_left_to_a_person(desk, answer):
    guardian = desk()
    guardian.model.answers = [answer]

    outcome = guardian.review()

    assert outcome["decision"] == "decline"
    assert outcome["escalates"] is True
    assert "leaves it to a person" in outcome["reason"]


@pytest.mark.parametrize(
    "answer",
    [verdict("allow", "high", "high"), verdict("allow", "medium", "unknown")],
    ids=["high and asked for", "medium"],
)
def test_what_a_model_may_allow(desk, answer):
    guardian = desk()
    guardian.model.answers = [answer]

    assert guardian.review()["decision"] == "accept"


@pytest.mark.parametrize(
    "answer",
    [f"Here it is:\n```json\n{verdict()}\n```\nThat is all.", f"  {verdict()}  "],
    ids=["prose and fence", "space"],
)
def test_prose_around_the_one_object_does_no_harm(desk, answer):
    guardian = desk()
    guardian.model.answers = [answer]

    assert guardian.review()["decision"] == "accept"


@pytest.mark.parametrize(
    "answer",
    [
        "I think that this is fine.",
        "",
        verdict() + verdict(),
        DENIED + "\n" + verdict(),
        verdict("approve"),
        verdict(risk="none"),
        '{"risk_level": "low"}',
        '{"outcome": "deny", "outcome": "allow", "risk_level": "low"}',
        '{"outcome": ["allow"], "risk_level": "low"}',
        "[" + verdict() + ", {}]",
        '{"a":' * 5_000,
        '{"outcome": "allow", "risk_level": NaN}',
    ],
    ids=[
        "prose only", "nothing", "two", "deny and allow", "unknown outcome", "unknown risk",
        "no outcome", "a key twice", "a list", "a list of two", "deep", "no number",
    ],
)  # fmt: skip
def test_an_answer_that_is_no_verdict_is_a_failed_review(desk, answer):
    guardian = desk()
    guardian.model.answers = [answer]

    outcome = guardian.review()

    assert outcome["decision"] == "decline"
    assert outcome["escalates"] is True
    assert "no judgement of the action" in outcome["reason"]
    assert len(guardian.model.requests) == 1
    assert outcome["details"]["usage"] == USAGE


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (ProviderError("bad request", status=400), 1),
        (ProviderError("forbidden", status=403), 1),
        (ProviderError("too many", status=429, retryable=True, retry_after_s=0.0), 2),
        (ProviderError("server error", status=500, retryable=True, retry_after_s=0.0), 2),
        (ProviderError("later", status=429, retryable=True, retry_after_s=3600.0), 1),
    ],
    ids=["400", "403", "429", "500", "429 far off"],
)
def test_a_request_that_fails_is_tried_once_more_at_most(desk, error, requests):
    guardian = desk(timeout_ms=300)
    guardian.model.answers = [error] * 5

    outcome = guardian.review()

    assert outcome["decision"] == "decline"
    assert outcome["escalates"] is True
    assert "no judgement of the action" in outcome["reason"]
    assert len(guardian.model.requests) == requests


def test_the_second_attempt_counts(desk):
    guardian = desk()
    guardian.model.answers = [ProviderError("busy", retryable=True, retry_after_s=0.0), verdict()]

    outcome = guardian.review()

    assert outcome["decision"] == "accept"
    assert outcome["details"]["requests"] == 2


def test_a_slow_review_ends_at_its_deadline(desk):
    guardian = desk(timeout_ms=50)
    guardian.model.answers = ["hang"]

    outcome = guardian.review()

    assert outcome["decision"] == "decline"
    assert outcome["escalates"] is True
    assert "0.05 s" in outcome["reason"]
    assert guardian.events[-1]["params"]["review"]["status"] == "timedOut"


def test_clients_see_a_review_begin_and_end(desk):
    guardian = desk()
    guardian.model.answers = [DENIED]

    outcome = guardian.review()

    started, completed = guardian.events
    assert started["method"] == "item/autoApprovalReview/started"
    assert started["params"]["review"]["status"] == "inProgress"
    assert started["params"]["targetItemId"] == "call_1"
    assert completed["method"] == "item/autoApprovalReview/completed"
    assert completed["params"]["review"] == {
        "status": "denied",
        "ending": "denied",
        "riskLevel": "high",
        "userAuthorization": "unknown",
        "rationale": "it would send the sources away",
    }
    assert completed["params"]["reviewId"] == started["params"]["reviewId"]
    began, ended = started["params"]["startedAtMs"], completed["params"]["completedAtMs"]
    assert completed["params"]["startedAtMs"] == began <= ended
    assert completed["params"]["reviewId"] == outcome["details"]["reviewId"]


@pytest.mark.parametrize(
    ("answer", "ending"),
    [(verdict("escalate"), "escalated"), ("garbage", "failed")],
    ids=["escalated", "failed"],
)
def test_an_end_that_clients_do_not_know_is_an_abort_with_its_name_beside(desk, answer, ending):
    guardian = desk()
    guardian.model.answers = [answer]

    guardian.review()

    review = guardian.events[-1]["params"]["review"]
    assert (review["status"], review["ending"]) == ("aborted", ending)


@pytest.mark.parametrize(
    ("item", "known"),
    [
        (
            {"type": "commandExecution", "command": "make", "cwd": "/work/sub"},
            {"type": "command", "source": "unifiedExec", "command": "make", "cwd": "/work/sub"},
        ),
        (
            {"type": "fileChange", "changes": [{"path": "/etc/x"}]},
            {"type": "applyPatch", "cwd": "/work", "files": ["/etc/x"]},
        ),
        (
            {"type": "mcpToolCall", "server": "s", "tool": "t"},
            {"type": "mcpToolCall", "server": "s", "toolName": "t"},
        ),
        (None, {"type": "mcpToolCall", "server": "ferrule", "toolName": "exec_command"}),
    ],
    ids=["command", "patch", "tool of a server", "other"],
)
def test_clients_see_the_action_in_a_form_that_they_know(desk, item, known):
    guardian = desk()
    guardian.model.answers = [DENIED]

    guardian.review(item=item)

    action = guardian.events[0]["params"]["action"]
    assert known.items() <= action.items()
    assert action["tool"] == "exec_command"


def test_clients_see_what_would_be_granted(desk):
    guardian = desk()
    guardian.model.answers = [DENIED]

    guardian.review(permissions=AdditionalPermissions(network=True), lasting=True)

    action = guardian.events[0]["params"]["action"]
    assert action["type"] == "requestPermissions"
    assert action["permissions"] == {"network": {"enabled": True}}


def test_the_configured_model_and_provider_are_asked(desk):
    guardian = desk(model="small", provider="elsewhere")
    guardian.model.answers = [verdict()]

    guardian.review()

    assert guardian.opened == ["elsewhere"]
    assert guardian.model.requests[0].model == "small"


def test_without_settings_the_sessions_are_asked(desk):
    guardian = desk()
    guardian.model.answers = [verdict()]

    guardian.review()

    assert guardian.opened == [""]
    assert guardian.model.requests[0].model == "gpt-5.5"


def test_a_provider_of_its_own_brings_its_default_model(desk):
    guardian = desk(provider="elsewhere")
    guardian.config["model_providers"] = {"elsewhere": {"default_model": "theirs"}}
    guardian.model.answers = [verdict()]

    guardian.review()

    assert guardian.model.requests[0].model == "theirs"


def test_the_policies_of_user_and_administrator_are_part_of_the_instructions(desk):
    guardian = desk(policy="Never {policy} on Fridays.", extra_policy="Ask about money.")
    guardian.model.answers = [verdict()]

    guardian.review()

    instructions = guardian.model.requests[0].input[0]
    assert instructions["role"] == "developer"
    assert "Never {policy} on Fridays.\n\nAsk about money." in instructions["content"][0]["text"]


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "sudo rm -r -f --no-preserve-root /",
        "rm -fr ~/",
        "cd /tmp && rm -Rf /etc/*",
        'bash -lc "rm -rf $HOME"',
        "mkfs.ext4 /dev/sda1",
        "dd if=/dev/zero of=/dev/nvme0n1 bs=1M",
        "cat x > /dev/sda",
        ":(){ :|:& };:",
    ],
)
def test_a_catastrophe_is_never_put_before_a_model(desk, command):
    guardian = desk()

    outcome = guardian.review(command)

    assert guardian.model.requests == []
    assert outcome["decision"] == "decline"
    assert outcome["escalates"] is True
    assert outcome["rule"] == "catastrophe"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build/",
        "rm -rf /tmp/x",
        "rm /etc/hosts",
        'git commit -m "never rm -rf /"',
        "dd if=/dev/sda of=disk.img",
        "ls / > /dev/null",
        "mkfs.ext4 disk.img",
        "echo 'unbalanced",
    ],
)
def test_what_is_no_catastrophe_is_left_to_the_model(command):
    assert catastrophe(ToolCall("c", "exec_command", {"cmd": command}, "", "function")) == ""
