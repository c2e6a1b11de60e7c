"""`ferrule exec review` as a process, with a scripted model and a real repository."""

from __future__ import annotations

import json
import subprocess

import pytest

from ferrule_testkit.model_items import function_call, message

FINDING = {
    "title": "[P1] Bug here",
    "body": "it breaks",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 1, "end": 2}},
}
ANSWER = json.dumps({"findings": [FINDING], "overall_explanation": "one bug"})
SHOWN = "one bug\n\nReview comment:\n\n- [P1] Bug here — /w/a.py:1-2\n  it breaks"


@pytest.fixture
def git(ferrule_home):
    """Run git in the workspace."""

    def run(*words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=ferrule_home.workspace, check=True)

    (ferrule_home.workspace / "a.py").write_text("x = 1\n")
    run("add", "-A")
    run("commit", "-q", "-m", "first")
    return run


def events(run):
    return [json.loads(line) for line in run.stdout.splitlines()]


def sent(request):
    return [
        part["text"]
        for item in request.body["input"]
        for part in item.get("content", ())
        if "text" in part
    ]


def test_the_findings_are_the_answer(run_ferrule, model_server, ferrule_home, git):
    (ferrule_home.workspace / "a.py").write_text("x = 2\n")
    model_server.play([[message(ANSWER)]])

    run = run_ferrule("exec", "review", "--uncommitted", "-o", "said.txt")

    assert (run.returncode, run.stdout) == (0, SHOWN + "\n")
    assert (ferrule_home.workspace / "said.txt").read_text() == SHOWN
    assert "user\ncurrent changes\n" in run.stderr
    assert "overall_explanation" not in run.stderr
    assert "+x = 2" in sent(model_server.requests[0])[-1]


def test_a_review_can_be_gone_on_with(run_ferrule, model_server, ferrule_home, git):
    (ferrule_home.workspace / "a.py").write_text("x = 2\n")
    model_server.play([[message(ANSWER)], [message("mended")]])
    run_ferrule("exec", "review", "--uncommitted")

    run = run_ferrule("exec", "resume", "--last", "mend it")

    assert run.stdout == "mended\n"
    assert SHOWN in sent(model_server.requests[-1])


def test_the_tools_of_a_review_change_no_files(run_ferrule, model_server, ferrule_home, git):
    (ferrule_home.workspace / "a.py").write_text("x = 2\n")
    model_server.play([[function_call("exec_command", {"cmd": "git diff"})], [message(ANSWER)]])

    run = run_ferrule("exec", "--json", "review", "--base", "HEAD")

    (command,) = [
        event["item"]
        for event in events(run)
        if event["type"] == "item.completed" and event["item"]["type"] == "command_execution"
    ]
    assert "+x = 2" in command["aggregated_output"]
    names = {tool.get("name") for tool in model_server.requests[0].body["tools"]}
    assert "exec_command" in names
    assert not names & {"apply_patch", "update_plan", "spawn_agent"}


def test_the_configured_model_reviews(run_ferrule, model_server, git):
    model_server.play([[message(ANSWER)]])

    run_ferrule("exec", "review", "look", "-c", 'review_model="strict"')

    assert model_server.requests[0].body["model"] == "strict"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ((), "say what to review"),
        (("--uncommitted",), "there is nothing to review"),
        (("--base", "nope"), "has no branch or commit 'nope'"),
        (("--commit", "nope"), "has no commit 'nope'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_reviewed_is_one_sentence_and_exit_code_1(
    run_ferrule, model_server, git, argv, sentence
):
    run = run_ferrule("exec", "--json", "review", *argv)

    assert run.returncode == 1
    (said,) = [line for line in run.stderr.splitlines() if line.startswith("Error: ")]
    assert sentence in said
    assert not model_server.requests
    assert run_ferrule("threads", "list", "--all").stdout == "No threads.\n"


def test_what_cannot_be_used_together_is_exit_code_2(run_ferrule):
    run = run_ferrule("exec", "review", "--uncommitted", "look at the locks")

    assert run.returncode == 2
    assert "--uncommitted and a prompt were given" in run.stderr
