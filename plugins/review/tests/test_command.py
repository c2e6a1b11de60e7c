"""`ferrule review` as a process, with a scripted model."""

import json
import signal
import subprocess

import pytest

from ferrule_hookspecs.command_line import UsageError
from ferrule_review.arguments import parse
from ferrule_testkit.model_items import function_call, message

FINDING = {
    "title": "[P1] Bug here",
    "body": "it breaks",
    "confidence_score": 0.9,
    "priority": 1,
    "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 1, "end": 2}},
}
ANSWER = {
    "findings": [FINDING],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "one bug",
    "overall_confidence_score": 0.8,
}
ANSWER_TEXT = json.dumps(ANSWER)
SHOWN = "one bug\n\nReview comment:\n\n- [P1] Bug here — /w/a.py:1-2\n  it breaks\n"


@pytest.fixture
def changed(ferrule_home):
    """A file that git does not know yet."""
    (ferrule_home.workspace / "a.py").write_text("x = 2\n")


def test_without_more_the_uncommitted_changes_are_reviewed(run_ferrule, model_server, changed):
    model_server.play([[function_call("exec_command", {"cmd": "ls"})], [message(ANSWER_TEXT)]])

    run = run_ferrule("review")

    assert (run.returncode, run.stdout) == (0, SHOWN)
    assert "reviewing current changes in" in run.stderr
    assert "ls" in run.stderr
    assert "+x = 2" in json.dumps(model_server.requests[0].body)


def test_the_findings_as_json_on_stdout_and_in_a_file(
    run_ferrule, model_server, ferrule_home, changed
):
    model_server.play([[message(ANSWER_TEXT)]])

    run = run_ferrule("review", "--json", "-o", "found.json")

    assert json.loads(run.stdout) == ANSWER
    assert json.loads((ferrule_home.workspace / "found.json").read_text()) == ANSWER


def test_what_has_no_utf8_form_costs_no_result(run_ferrule, model_server, ferrule_home, changed):
    model_server.play([[message(json.dumps({**ANSWER, "overall_explanation": "a\ud83d bug"}))]])

    run = run_ferrule("review", "-o", "found.json")

    assert (run.returncode, run.stdout) == (0, SHOWN.replace("one bug", "a? bug"))
    found = json.loads((ferrule_home.workspace / "found.json").read_text())
    assert found["findings"] == [FINDING]


def test_the_last_line_says_how_to_go_on(run_ferrule, model_server, changed):
    model_server.play([[message(ANSWER_TEXT)], [message("mended")]])
    run = run_ferrule("review", "look at the locks", "-m", "strict")
    thread_id = run.stderr.splitlines()[-1].split()[-4]

    run = run_ferrule("exec", "resume", thread_id, "mend the findings")

    assert run.stdout == "mended\n"
    assert model_server.requests[0].body["model"] == "strict"
    assert "one bug" in json.dumps(model_server.requests[1].body)


@pytest.mark.parametrize(
    ("argv", "code", "sentence"),
    [
        ((), 1, "Error: there is nothing to review"),
        (("-C", "nowhere"), 1, "nowhere' does not exist"),
        (("--base", "a", "--commit", "b"), 2, "Usage: ferrule review"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_reviewed_is_one_sentence(run_ferrule, model_server, argv, code, sentence):
    run = run_ferrule("review", *argv)

    assert run.returncode == code
    assert sentence in run.stderr
    assert run.stdout == ""
    assert not model_server.requests
    assert run_ferrule("threads", "list", "--all").stdout == "No threads.\n"


@pytest.mark.parametrize(
    ("argv", "culprit"),
    [
        (["--base", "a", "--commit", "b"], "--base and --commit were given"),
        (["look", "--uncommitted"], "--uncommitted and a prompt were given"),
        (["--title", "T"], "--title names the commit"),
        (["--nope"], "--nope"),
        (["two", "prompts"], "prompts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_names_the_culprit(argv, culprit):
    with pytest.raises(UsageError, match=culprit):
        parse(argv)


def test_a_model_that_cannot_be_asked_is_exit_code_1(run_ferrule, model_server, changed):
    model_server.play([{"status": 400}])

    run = run_ferrule("review")

    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("Error: ")


def test_an_interrupt_ends_the_review_and_keeps_the_thread(ferrule_home, model_server, changed):
    model_server.play([{"items": [message("partial")], "hang": True}])
    process = subprocess.Popen(
        ferrule_home.command(["review"]),
        cwd=ferrule_home.workspace,
        env=ferrule_home.environ,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        line = process.stderr.readline()
        while b"reviewing" not in line:
            assert line, "it ended"
            line = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=120)

    assert process.returncode == 1
    assert b"the review was interrupted" in told
    (rollout,) = ferrule_home.path.glob("sessions/**/*.jsonl")
    assert '"turn_aborted"' in rollout.read_text()
