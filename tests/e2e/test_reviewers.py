"""Reviewers chosen and composed by configuration alone decide in `ferrule exec`."""

import json
import sys

import pytest

from ferrule_testkit.model_items import function_call, message

REVIEW = """\
import json, sys
request = json.load(sys.stdin)
text = request["call"]["text"]
decision = "decline" if "forbidden" in text else sys.argv[1]
print(json.dumps({"decision": decision, "reason": f"{sys.argv[2]} read {request['version']}"}))
"""


@pytest.fixture
def review(ferrule_home):
    """The table of an instance of `command` that answers the same each time."""
    program = ferrule_home.path / "review.py"
    program.write_text(REVIEW)

    def table(name, decision):
        command = json.dumps([sys.executable, str(program), decision, name])
        return f"[reviewers.command.{name}]\ncommand = {command}\n"

    return table


@pytest.fixture
def run(ferrule_home, run_ferrule, model_server):
    """Have one command reviewed; returns what the model read, and the run."""

    def turn(reviewer, tables, cmd="echo ran"):
        ferrule_home.configure(tables=tables)
        arguments = {
            "cmd": cmd,
            "sandbox_permissions": "require_escalated",
            "justification": "to test",
        }
        model_server.play([[function_call("exec_command", arguments)], [message("done")]])
        words = ["-c", f'approvals_reviewer="{reviewer}"', "-a", "on-request", "go"]
        finished = run_ferrule("exec", "--json", *words)
        outputs = [
            item["output"]
            for request in model_server.requests[-1:]
            for item in request.body["input"]
            if item["type"].endswith("_output")
        ]
        return "".join(outputs), finished

    return turn


def votes_of(home):
    """Who said what, as the thread's file has it."""
    (file,) = home.path.glob("sessions/**/*.jsonl")
    records = [json.loads(line)["payload"] for line in file.read_text().splitlines()]
    outcomes = [one["outcome"] for one in records if one.get("phase") == "review"]
    return [(v["reviewer"], v["decision"]) for v in outcomes[0]["details"]["votes"]]


@pytest.mark.parametrize("decision", ["accept", "decline"])
def test_a_program_decides(run, review, decision):
    output, finished = run("command:one", review("one", decision))

    assert finished.returncode == 0, finished.stderr
    assert ("ran" in output) is (decision == "accept")
    assert decision == "accept" or "rejected by command:one: one read 1" in output
    assert finished.survivors == {}


@pytest.mark.parametrize(
    ("panel", "answers", "is_run"),
    [
        ('mode = "all_of"', ("accept", "accept"), True),
        ('mode = "all_of"', ("accept", "decline"), False),
        ('mode = "any_of"', ("decline", "accept"), True),
        ('mode = "chain"', ("escalate", "accept"), True),
        ('mode = "veto"', ("accept", "escalate"), True),
        ('mode = "k_of_n"\nk = 2', ("accept", "decline"), False),
    ],
)
def test_a_panel_decides(run, review, ferrule_home, panel, answers, is_run):
    members = f'[reviewers.panel]\nmembers = ["command:one", "command:two"]\n{panel}\n'
    tables = members + review("one", answers[0]) + review("two", answers[1])

    output, finished = run("panel", tables)

    assert finished.returncode == 0, finished.stderr
    assert ("ran" in output) is is_run
    assert {name for name, _ in votes_of(ferrule_home)} == {"command:one", "command:two"}


def test_what_is_left_open_is_declined_where_nobody_can_be_asked(run, review):
    output, finished = run("command:one", review("one", "escalate"))

    assert finished.returncode == 0, finished.stderr
    assert "nobody can be asked here" in output


@pytest.mark.parametrize(
    ("reviewer", "tables", "told"),
    [
        ("command:lint", "", "[reviewers.command.lint]"),
        ("command", "", "needs either `command` or `url`"),
        ("panel", '[reviewers.panel]\nmembers = ["nobody"]', "no plugin 'nobody' is installed"),
        ("panel", '[reviewers.panel]\nmembers = ["panel"]', "circle: panel -> panel"),
        ("panel", '[reviewers.panel]\nmembers = ["user"]\nmode = "most"', "mode must be one of"),
    ],
)
def test_what_is_misconfigured_stops_before_anything_is_started(
    run, model_server, reviewer, tables, told
):
    _, finished = run(reviewer, tables)

    assert finished.returncode == 1
    assert told in finished.stderr + finished.stdout
    assert "Traceback" not in finished.stderr
    assert model_server.requests == []
