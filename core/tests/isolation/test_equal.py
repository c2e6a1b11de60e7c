"""The same code gives the same results in this process and in one of its own."""

import json
import os
import sys

import pytest
from kernel_plugins.speech import DONE, call, say

USES = (
    "arguments",
    "settings",
    "raising",
    "refusing",
    "parts",
    "failing",
    "files",
    "missing",
    "outside",
    "denied",
    "command",
    "telling",
    "asking",
    "forbidden",
)
TOOLS = {"courier": "Courier"}
SETTINGS = '[tools.courier]\nspeed = "slow"\nstops = [1, 2]'


def use(what, **more):
    return "courier", json.dumps({"what": what, **more})


def observed(stranger, isolation):
    """What a session looks like from outside."""
    stranger.install("courier", TOOLS, isolation=isolation, more=SETTINGS)
    answers = stranger.answers(*map(use, USES), ("courier", '{"times": "x"}'))
    (sent, *_) = [tool for tool in stranger.stage.requests[0].tools if tool.name == "courier"]
    items = [
        {key: value for key, value in item.items() if not key.endswith("AtMs")}
        for item in stranger.bench.items("dynamicToolCall")
    ]
    deltas = [p["delta"] for p in stranger.bench.of("item/commandExecution/outputDelta")]
    return sent, dict(zip((*USES, "wrong"), answers, strict=True)), items, deltas


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_tool_is_offered_judged_shown_and_run_alike(stranger, isolation):
    sent, answers, items, deltas = observed(stranger, isolation)

    assert sent.description == "Carries things."
    assert sent.parameters["properties"]["times"]["default"] == 2
    assert answers["arguments"] == (
        """{'what': 'arguments', 'times': 2} {"what": "arguments", "times": 2} function 1"""
    )
    assert answers["settings"] == "{'speed': 'slow', 'stops': [1, 2]} True"
    assert answers["raising"] == "courier failed: ValueError: as it happens"
    assert answers["refusing"] == "not today"
    assert answers["parts"] == [{"type": "input_text", "text": "in parts"}]
    assert answers["failing"] == "it failed"
    assert "True FileStat(kind='file', size=256" in answers["files"]
    assert "b'\\x00\\x01\\x02' [('carried.bin', 'file')] None" in answers["files"]
    assert answers["missing"] == "No such file or directory nothing"
    assert answers["outside"].startswith("Denial(kind='write'")
    assert "/usr" in answers["denied"]
    assert answers["command"] == "b'told yes\\n' b'aside\\n' 3 None True"
    assert answers["telling"] == "told"
    assert answers["asking"] == "nobody answers"
    assert "workspace-write: " in answers["forbidden"]
    assert answers["wrong"] == "failed to parse function arguments: what: Field required"
    assert deltas == ["halfway"]
    assert "mind the gap" in stranger.warnings
    assert {item["tool"] for item in items[:-1]} == {"courier in work"}
    assert [item["status"] for item in items].count("failed") == 6


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_only_a_tool_that_is_not_isolated_is_imported_here(stranger, isolation):
    stranger.install("courier", TOOLS, isolation=isolation)

    (place,) = stranger.answers(use("place"))

    assert (int(place) == os.getpid()) is (isolation == "none")
    assert ("acme_courier" in sys.modules) is (isolation == "none")


@pytest.mark.slow
def test_a_change_of_its_code_is_taken_up_between_turns(stranger, bench, stage):
    stranger.install("courier", TOOLS)
    module = stranger.folder / "src" / "acme_courier" / "__init__.py"

    async def script(session):
        for id_ in ("c1", "c2"):
            stage.turns.extend([[call(*use("failing"), id_), DONE], [*say("ok"), DONE]])
        await bench.start(session)
        await bench.until("turn/completed")
        module.write_text(module.read_text().replace("it failed", "it failed otherwise"))
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    answers = bench.outputs(stage)
    assert (answers["c1"], answers["c2"]) == ("it failed", "it failed otherwise")


@pytest.mark.slow
def test_where_a_tool_runs_may_change_between_turns(stranger, bench, stage):
    stranger.install("courier", TOOLS, isolation="")
    config = bench.host.home / "config.toml"

    async def script(session):
        for id_ in ("c1", "c2"):
            stage.turns.extend([[call(*use("place"), id_), DONE], [*say("ok"), DONE]])
        await bench.start(session)
        await bench.until("turn/completed")
        config.write_text(f'{config.read_text()}\n[plugins.isolation]\nacme-apart = "process"\n')
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    answers = bench.outputs(stage)
    assert int(answers["c1"]) == os.getpid() != int(answers["c2"])


@pytest.mark.slow
def test_what_a_tool_prints_is_no_answer(stranger):
    stranger.install("courier", TOOLS)

    answers = stranger.answers(use("printing"), use("arguments"))

    assert answers[0] == "quiet ''"
    assert answers[1].endswith("function 2")
