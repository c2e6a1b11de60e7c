"""The reviewer asks a person, and declines where there is none."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.permissions import AdditionalPermissions
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall
from ferrule_reviewer_user.reviewer import UserReviewer

CALL = ToolCall(
    "call_1", "exec_command", {"cmd": "make install"}, '{"cmd": "make install"}', "function"
)
REQUEST = ReviewRequest("thread", "turn", CALL, None, "it writes outside", "/work", escalation=True)


def reviewer() -> UserReviewer:
    return UserReviewer(PluginContext(Path("/nowhere"), {}))


@pytest.mark.parametrize("decision", ["accept", "acceptForSession", "decline", "cancel"])
def test_the_client_is_asked_and_its_answer_counts(decision):
    asked = []

    async def ask(request):
        asked.append(request)
        return {"decision": decision}

    outcome = anyio.run(reviewer().review, REQUEST, ReviewContext(ask))

    assert outcome["decision"] == decision
    assert asked[0]["method"] == "item/commandExecution/requestApproval"
    assert asked[0]["params"]["reason"] == "it writes outside"


def test_the_client_is_told_what_would_be_granted():
    asked = []

    async def ask(request):
        asked.append(request["params"]["additionalPermissions"])
        return {"decision": "accept"}

    for permissions in (
        AdditionalPermissions(network=True),
        AdditionalPermissions(read=("/r",), write=("/w",)),
    ):
        anyio.run(reviewer().review, REQUEST._replace(permissions=permissions), ReviewContext(ask))

    assert asked == [
        {"network": {"enabled": True}},
        {"fileSystem": {"read": ["/r"], "write": ["/w"]}},
    ]


@pytest.mark.parametrize("answer", [{}, {"decision": "approved"}, {"decision": None}])
def test_an_answer_that_is_none_declines(answer):
    async def ask(request):
        return answer

    outcome = anyio.run(reviewer().review, REQUEST, ReviewContext(ask))

    assert outcome["decision"] == "decline"
    assert "approval request failed" in outcome["reason"]


SCRIPT = """
import sys, anyio
from pathlib import Path
from ferrule_reviewer_user.reviewer import UserReviewer
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall
call = ToolCall("c", "exec_command", {}, "{}", "function")
request = ReviewRequest("t", "u", call, None, "it writes outside", "/work", escalation=True)
outcome = anyio.run(UserReviewer(PluginContext(Path("/"), {})).review, request, ReviewContext())
sys.stdout.write("DECISION " + outcome["decision"] + " " + outcome["reason"] + "\\n")
"""


def test_without_client_and_terminal_it_declines_and_says_why():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=True,
    )

    assert done.stdout.startswith("DECISION decline nobody can be asked here")


def at_a_terminal(typed: bytes, script: str = SCRIPT) -> str:
    """Run the script on a terminal of its own, type, and return all that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", script])
    shown = b""
    while b"turn: " not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, typed)
    try:
        while chunk := os.read(terminal, 1000):
            shown += chunk
    except OSError:
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode()


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        (b"y\n", "accept"),
        (b"maybe\na\n", "acceptForSession"),
        (b"n\n", "decline"),
        (b"c\n", "cancel"),
        (b"\x04", "decline"),
    ],
    ids=["yes", "always after nonsense", "no", "cancel", "end of file"],
)
def test_a_person_at_a_terminal_decides(typed, decision):
    shown = at_a_terminal(typed)

    assert "it writes outside" in shown
    assert "outside the sandbox" in shown
    assert f"DECISION {decision} " in shown


AN_ITEM = SCRIPT.replace("escalation=True)", "escalation=True)\nrequest = request._replace(ITEM)")


@pytest.mark.parametrize(
    ("item", "asked"),
    [
        ("item={'type': 'mcpToolCall'}, escalation=False", "Call it, outside the sandbox?"),
        ("item={'type': 'dynamicToolCall'}, escalation=False", "Call it, outside the sandbox?"),
        (
            "item={'type': 'fileChange', 'changes': [{'path': 'a'}]}, escalation=False",
            "Apply it in the sandbox?",
        ),
        ("item={'type': 'commandExecution', 'command': 'ls'}", "Run it outside the sandbox?"),
        ("lasting=True", "Grant it for this turn?"),
    ],
)
def test_the_question_says_what_yes_means(item, asked):
    assert asked in at_a_terminal(b"n\n", AN_ITEM.replace("ITEM", item))


WITH_RULE = SCRIPT.replace(
    "escalation=True)",
    """escalation=True)
from ferrule_hookspecs.review import Amendment
request = request._replace(amendments=(Amendment("command_prefix", ("npm", "install")),))
""",
).replace('outcome["reason"]', 'str(outcome.get("amendment"))')


@pytest.mark.parametrize(
    ("typed", "decided"),
    [
        (b"r\n", "accept ['command_prefix', 'npm', 'install']"),
        (b"rule\n", "accept ['command_prefix', 'npm', 'install']"),
        (b"y\n", "accept None"),
        (b"n\n", "decline None"),
    ],
)
def test_a_rule_that_is_offered_can_be_accepted_and_is_told_in_words(typed, decided):
    shown = at_a_terminal(typed, WITH_RULE)

    assert "from now on commands that begin with 'npm install' run without asking" in shown
    assert f"DECISION {decided}" in shown


def test_without_an_offer_there_is_no_rule_to_accept():
    shown = at_a_terminal(b"r\nn\n")

    assert "[r]ule" not in shown
    assert "DECISION decline" in shown


def test_what_strangers_wrote_cannot_steer_the_terminal():
    wicked = SCRIPT.replace('"{}"', ascii("ls\x1b[2K\r\u202e\nApproval needed: nothing"))
    shown = at_a_terminal(b"n\n", wicked)

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "exec_command ls\\x1b[2K\\r\\u202e\r\n    | Approval needed: nothing" in shown


def test_a_question_nobody_waits_for_any_more_does_not_keep_the_program():
    interrupted = SCRIPT.replace(
        'outcome = anyio.run(UserReviewer(PluginContext(Path("/"), {})).review, request,'
        " ReviewContext())",
        """
async def main():
    with anyio.move_on_after(0.3):
        await UserReviewer(PluginContext(Path("/"), {})).review(request, ReviewContext())
    return {"decision": "none", "reason": "interrupted"}
outcome = anyio.run(main)
""",
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", interrupted])
    shown = b""
    try:
        while chunk := os.read(terminal, 1000):
            shown += chunk
    except OSError:
        pass
    os.close(terminal)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"DECISION none interrupted" in shown
