"""The real model: run with `--run-slow` and FERRULE_TEST_LOCAL_MODEL, the path of its weights.

`ferrule local pull` fetches them. The ten tasks take some minutes; the other tests are content with
the weights of the 0.5B model, too.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelRequest, ReasoningDelta
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_local.provider import LocalProvider

MODEL = os.environ.get("FERRULE_TEST_LOCAL_MODEL", "")
ROOT = Path(__file__).parents[3]
SHELL = FunctionSchema("exec_command", "", {})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not Path(MODEL).is_file(), reason="FERRULE_TEST_LOCAL_MODEL names no file"),
]


@pytest.fixture
def provider(tmp_path):
    context = PluginContext(tmp_path, {}, environ=dict(os.environ), settings={"path": MODEL})
    return LocalProvider(context)


def request(words: str, **more: object) -> ModelRequest:
    content = [{"type": "input_text", "text": words}]
    message = {"type": "message", "role": "user", "content": content}
    return ModelRequest("t", "u", "embedded", [message], [SHELL])._replace(**more)


def engines() -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ferrule_local.engine" in words and str(os.getpid()).encode() in words:
            found.append(int(entry.name))
    return found


def test_at_least_six_of_ten_small_tasks_are_done(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/local_model.py"), "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    passed = [result["task"] for result in results if result["ok"]]
    assert len(results) == 10
    assert len(passed) >= 6, [(result["task"], result["events"]) for result in results]


def test_a_step_comes_back_with_its_usage_and_the_prompt_is_read_once(provider):
    async def twice() -> list:
        try:
            asked = request("Rename a.txt to b.txt.")
            return [[event async for event in provider.stream(asked)] for _ in range(2)]
        finally:
            await provider.aclose()

    first, second = anyio.run(twice)
    assert any(isinstance(event, ReasoningDelta) for event in first)
    assert any(isinstance(event, ItemDone) for event in first)
    assert [type(event) for event in first] == [type(event) for event in second]
    assert isinstance(second[-1], Completed)
    usage = second[-1].usage
    assert usage["cachedInputTokens"] > usage["inputTokens"] - 10
    assert engines() == []


def test_a_message_follows_the_schema(provider):
    schema = {
        "type": "object",
        "properties": {"answer": {"$ref": "#/$defs/number"}},
        "required": ["answer"],
        "additionalProperties": False,
        "$defs": {"number": {"type": "integer"}},
    }

    async def ask() -> list:
        try:
            asked = request("What is 2 + 2?", tools=[], output_schema=schema)
            return [event async for event in provider.stream(asked)]
        finally:
            await provider.aclose()

    message = anyio.run(ask)[-2].item
    assert isinstance(json.loads(message["content"][0]["text"])["answer"], int)


def test_an_interrupted_answer_stops_the_model_and_the_next_one_comes(provider):
    async def interrupted() -> list:
        try:
            with anyio.CancelScope() as scope:
                async for _ in provider.stream(request("Write a long story into story.txt.")):
                    scope.cancel()
            assert scope.cancelled_caught
            return [event async for event in provider.stream(request("Say hello."))]
        finally:
            await provider.aclose()

    assert isinstance(anyio.run(interrupted)[-1], Completed)
    assert engines() == []


def test_the_engine_does_not_outlive_a_killed_session(tmp_path):
    command = [sys.executable, "-m", "ferrule", "exec", "--json", "--skip-git-repo-check"]
    settings = f"model_providers.local.settings={{path={json.dumps(MODEL)}}}"
    command += ["-c", "model_provider=local", "-c", settings, "Write a long story into story.txt."]
    environ = {**os.environ, "FERRULE_HOME": str(tmp_path / "home")}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as session:
        assert session.stdout
        while b'"reasoning"' not in session.stdout.readline():
            pass
        children = Path(f"/proc/{session.pid}/task/{session.pid}/children").read_text().split()
        engine = next(
            pid for pid in children if b"engine" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        watched = os.pidfd_open(int(engine))
        session.send_signal(signal.SIGKILL)
    try:
        assert select.select([watched], [], [], 10)[0], "the engine lives on"
    finally:
        os.close(watched)
