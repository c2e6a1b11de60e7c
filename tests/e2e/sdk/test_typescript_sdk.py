"""The official TypeScript SDK (`@openai/codex-sdk`) drives `ferrule exec` unchanged.

`FERRULE_TEST_NODE_MODULES` names the `node_modules` folder that holds the SDK.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ferrule_testkit.model_items import function_call, message
from ferrule_testkit.surroundings import missing

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SDK = "@openai/codex-sdk/dist/index.js"


@pytest.fixture(scope="session")
def sdk() -> Path:
    if shutil.which("node") is None:
        missing("node is not installed; the TypeScript SDK was not tried")
    module = Path(os.environ.get("FERRULE_TEST_NODE_MODULES", "node_modules"), SDK)
    if not module.exists():
        missing(f"{module} is not there (set FERRULE_TEST_NODE_MODULES); the SDK was not tried")
    return module.resolve()


@pytest.fixture
def drive(sdk, ferrule_home):
    script = Path(__file__).with_name("drive.mjs")
    ferrule = ferrule_home.command([])[0]

    def drive(case: str, *arguments: str):
        done = subprocess.run(
            ["node", script, sdk, ferrule, ferrule_home.workspace, case, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=ferrule_home.environ,
            cwd=ferrule_home.path,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return drive


def test_a_turn(drive, model_server):
    model_server.play([[message("Hello")]])
    turn = drive("turn")
    assert turn["finalResponse"] == "Hello"
    assert turn["id"]
    assert turn["usage"]["input_tokens"] > 0


def test_events_of_a_turn_with_a_command(drive, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "echo hi"})], [message("done")]])
    assert drive("stream") == [
        "thread.started",
        "turn.started",
        "item.started:command_execution",
        "item.completed:command_execution",
        "item.completed:agent_message",
        "turn.completed",
    ]


def test_resuming_a_thread(drive, model_server):
    model_server.play([[message("one")], [message("two")]])
    resumed = drive("resume")
    assert resumed["finalResponse"] == "two"
    assert resumed["ids"][0] == resumed["ids"][1]
    texts = json.dumps(model_server.requests[1].body["input"])
    assert "first" in texts
    assert "second" in texts


def test_images_go_to_the_model(drive, model_server, ferrule_home):
    picture = ferrule_home.workspace / "p.png"
    picture.write_bytes(PNG)
    model_server.play([[message("seen")]])
    assert drive("images", str(picture))["finalResponse"] == "seen"
    assert "data:image/png;base64," in json.dumps(model_server.requests[0].body["input"])


def test_structured_output(drive, model_server):
    model_server.play([[message('{"answer":"42"}')]])
    assert json.loads(drive("schema")["finalResponse"]) == {"answer": "42"}
    assert model_server.requests[0].body["text"]["format"]["type"] == "json_schema"


def test_a_failed_turn_is_an_error_with_its_cause(drive, model_server):
    model_server.play([{"status": 400, "body": "no such thing"}])
    assert drive("failure")["error"] == "no such thing"


def test_aborting_ends_the_turn(drive, model_server):
    model_server.play([[function_call("exec_command", {"cmd": "sleep 60"})], [message("late")]])
    assert drive("abort")["error"] == "AbortError"


def test_every_setting_is_accepted(drive, model_server):
    model_server.play([[message("tuned")]])
    assert drive("settings")["finalResponse"] == "tuned"
    body = model_server.requests[0].body
    assert body["model"] == "other-model"
    assert body["reasoning"]["effort"] == "high"
    assert "one\n\ntwo" in json.dumps(body["input"]).replace("\\n", "\n")
