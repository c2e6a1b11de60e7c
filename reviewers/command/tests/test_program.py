"""A program decides: what it reads, what it may answer, and that everything else is a refusal."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

ANSWER = "import json, sys; sys.stdin.read(); print(json.dumps({}))"


def says(**answer):
    return ANSWER.format(repr(answer))


@pytest.mark.parametrize("decision", ["accept", "acceptForSession", "decline", "cancel"])
def test_its_answer_counts(decide, script, decision):
    command = script(says(decision=decision, reason="because", rule="r1", evidence=["e"]))

    assert decide(command=command) == {
        "decision": decision,
        "reviewer": "command:lint",
        "reason": "because",
        "rule": "r1",
        "evidence": ["e"],
    }


def test_escalate_leaves_it_open(decide, script):
    outcome = decide(command=script(says(decision="escalate", reason="not mine")))

    assert (outcome["decision"], outcome["escalates"]) == ("decline", True)


def test_it_reads_exactly_what_will_run(decide, script, tmp_path, request_, denial):
    command = script(
        "import sys, pathlib; pathlib.Path('seen').write_text(sys.stdin.read());"
        + says(decision="accept", reason="")
    )

    decide(command=command, request=request_._replace(denial=denial("filesystem", "no", "/x")))

    seen = json.loads((tmp_path / "seen").read_text())
    assert seen["version"] == 1
    assert seen["call"]["arguments"] == {"cmd": "make install", "nested": {"list": [1, 2]}}
    assert seen["call"]["text"] == request_.call.text
    assert seen["denial"]["reason"]
    assert seen["verdicts"]["rules"]["rule"] == "prompt prefix make"
    assert seen["amendments"] == [{"kind": "command_prefix", "value": ["make", "install"]}]
    assert {"threadId", "turnId", "item", "reason", "cwd", "escalation"} <= seen.keys()


def test_it_accepts_an_amendment_that_was_offered(decide, script):
    amendment = {"kind": "command_prefix", "value": ["make", "install"]}
    command = script(says(decision="accept", reason="", amendment=amendment))

    assert decide(command=command)["amendment"] == ["command_prefix", "make", "install"]


YES = '{"decision": "accept", "reason": "r"}'
UNKNOWN = ', "x": 1}'
AMENDED = ', "amendment": {"kind": "command_prefix", "value": ["rm"]}}'
BROKEN = {
    "exit code": (f"print('{YES}'); sys.stderr.write('no licence'); sys.exit(3)", "3: no licence"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
    "nothing": ("pass", "exactly one JSON object"),
    "prose": (f"print('Sure! {YES}')", "exactly one JSON object"),
    "several objects": (f"print('{YES}'); print('{YES}')", "exactly one JSON object"),
    "an array": (f"print('[{YES}]')", "did not answer with a JSON object"),
    "twice a key": ('print(\'{"decision": "decline", "decision": "accept"}\')', "stands twice"),
    "not UTF-8": ("sys.stdout.buffer.write(b'\\xff')", "exactly one JSON object"),
    "deep": ("print('[' * 60000)", "exactly one JSON object"),
    "too much": ("print('x' * 10_000_000)", "more than 65536 bytes"),
    "unknown decision": ('print(\'{"decision": "yes", "reason": ""}\')', "not one of accept"),
    "no decision": ('print(\'{"reason": ""}\')', "without 'decision'"),
    "no reason": ('print(\'{"decision": "accept"}\')', "without 'reason'"),
    "wrong type": ('print(\'{"decision": "accept", "reason": 1}\')', "which is not a text"),
    "unknown key": (f"print({YES[:-1] + UNKNOWN!r})", "unknown key 'x'"),
    "amendment": (
        f"print({YES[:-1] + AMENDED!r})",
        "not offered",
    ),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN)
def test_whatever_else_it_does_is_a_refusal_that_says_what_was_wrong(decide, script, text, told):
    outcome = decide(command=script(f"import sys\n{text}"))

    assert outcome["decision"] == "decline"
    assert "escalates" not in outcome
    assert told in outcome["reason"]
    assert f"the reviewer program {sys.executable!r}" in outcome["reason"]


def test_a_program_that_is_not_there_is_a_refusal(decide):
    assert "could not be started" in decide(command=["/nowhere/review"])["reason"]


class Person:
    async def review(self, request, context):
        return {"decision": "accept", "reviewer": "user", "reason": "accepted by the user"}


def test_a_person_decides_where_there_is_no_answer_and_that_is_configured(decide, script):
    outcome = decide(command=script("print(1)"), on_error="user", user=Person())

    assert (outcome["decision"], outcome["reviewer"]) == ("accept", "user")
    assert "did not answer with a JSON object" in outcome["evidence"][0]


def test_a_person_is_not_asked_where_there_is_an_answer(decide, script):
    command = script(says(decision="decline", reason="no"))

    assert decide(command=command, on_error="user", user=Person())["reviewer"] == "command:lint"


def alive(folder: Path) -> set[int]:
    """Processes that run in a folder."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(entry) == str(folder):
                found.add(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("time.sleep(100)", "did not answer within 1 s"),
        (f"print('{YES}')", ""),
        ("sys.exit(1)", "exit code 1"),
    ],
    ids=["timeout", "answer", "failure"],
)
def test_nothing_it_started_outlives_it(decide, script, tmp_path, ending, told):
    command = script(
        "import subprocess, sys, time\n"
        "subprocess.Popen(['sleep', '100'])\n"
        "subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 100; sleep 100'])\n" + ending
    )

    outcome = decide(command=command, timeout_ms=1000)

    assert told in outcome["reason"]
    assert (outcome["decision"] == "accept") is (told == "")
    given_up = time.monotonic() + 120
    while alive(tmp_path) and time.monotonic() < given_up:
        os.sched_yield()  # a killed process takes a moment to go
    assert alive(tmp_path) == set()


def test_its_environment_is_clean(decide, script, tmp_path):
    command = script(
        "import os, json, pathlib\n"
        "pathlib.Path('env').write_text(json.dumps(dict(os.environ)))\n"
        + says(decision="accept", reason="")
    )
    environ = {
        "PATH": f".{os.pathsep}/usr/bin",
        "OPENAI_API_KEY": "secret",
        "LD_PRELOAD": "",
        "PYTHONPATH": "/work",
        "ACME_TOKEN": "t",
    }

    decide(command=command, environ=environ, env=["ACME_TOKEN", "MISSING"])

    seen = json.loads((tmp_path / "env").read_text())
    assert seen["ACME_TOKEN"] == "t"
    assert seen["PATH"] == "/usr/bin"
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "PYTHONPATH", "MISSING"} & seen.keys()


def test_a_program_need_not_read_its_input(decide, request_):
    call = request_.call._replace(text="x" * 1_000_000)
    command = ["/bin/sh", "-c", f"echo '{YES}'"]

    assert decide(command=command, request=request_._replace(call=call))["decision"] == "accept"
