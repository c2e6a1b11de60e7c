"""The examples do what they say."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ferrule_testkit.model_items import function_call, message

EXAMPLES = Path(__file__).parents[1] / "examples"
CLEAN = {"summary": "All is well", "findings": []}
FINDING = {"file": "a.py", "line": 3, "severity": "error", "problem": "it divides by zero"}


def run_example(home, name, *arguments):
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        env={**home.environ, "FERRULE_HOME": str(home.path)},
        cwd=home.workspace,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("review", "code", "line"),
    [
        (CLEAN, 0, "All is well"),
        ({"summary": "Hm", "findings": [FINDING]}, 1, "a.py:3: error: it divides by zero"),
        ({"summary": 5}, 2, "no review: the answer does not fit"),
    ],
    ids=["clean", "finding", "no review"],
)
def test_the_code_reviewer_fails_where_it_finds_something(
    ferrule_home, model_server, review, code, line
):
    model_server.play([[message(json.dumps(review))]])

    done = run_example(ferrule_home, "code_reviewer.py", "main")

    assert done.returncode == code, done.stderr
    assert line in done.stdout + done.stderr
    assert "git diff main" in str(model_server.requests[0].body["input"])


def test_the_sre_agent_lets_only_looking_happen(ferrule_home, model_server):
    look = function_call("exec_command", {"cmd": "df -h ."}, call_id="look")
    break_ = function_call("exec_command", {"cmd": "df; touch broken"}, call_id="break")
    signs = function_call("vital_signs", {}, call_id="signs")
    model_server.play([[look], [break_], [signs], [message("It is the disk")]])

    done = run_example(ferrule_home, "sre_agent.py", "It", "is", "slow")

    assert done.returncode == 0, done.stderr
    assert "It is the disk" in done.stdout
    outputs = {
        item["call_id"]: str(item["output"])
        for item in model_server.requests[-1].body["input"]
        if item["type"] == "function_call_output"
    }
    assert "Filesystem" in outputs["look"]
    assert "declined: /bin/bash" in done.stdout
    assert "df; touch broken" in re.search(r"declined: (.*)", done.stdout)[1]
    assert not (ferrule_home.workspace / "broken").exists()
    assert "load" in outputs["signs"]


@contextmanager
def serving(home):
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        command = [sys.executable, "-m", "uvicorn", "chat_page:app", "--app-dir", str(EXAMPLES)]
        with subprocess.Popen(
            [*command, "--fd", str(listener.fileno()), "--log-level", "warning"],
            env={**home.environ, "FERRULE_HOME": str(home.path)},
            cwd=home.workspace,
            pass_fds=[listener.fileno()],
        ) as server:
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.terminate()


def test_the_chat_page_streams_the_answer(ferrule_home, model_server):
    slowly = {"items": [message("Word by word")], "delta_delay": 0.1}
    model_server.play([slowly, [message("And again")]])

    with serving(ferrule_home) as url, httpx.Client(base_url=url, timeout=120) as browser:
        assert "<form" in browser.get("/").text
        assert browser.post("/say", content="{}").status_code == 415
        answer = browser.post("/say", json={"thread": "", "said": "Hello"})
        browser.post("/say", json={"thread": answer.headers["Thread"], "said": "Go on"})

    events = [json.loads(event[6:]) for event in answer.text.split("\n\n") if event]
    assert "".join(events) == "Word by word"
    assert len(events) > 1
    assert "Word by word" in str(model_server.requests[1].body["input"])
