"""A process that ends, or that cannot be believed, costs the calls in flight and nothing else."""

import json
from types import SimpleNamespace

import anyio
import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule.isolation.tools import IsolatedTools
from ferrule_hookspecs.errors import PluginError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import ResolvedPolicy
from ferrule_hookspecs.tools import ToolCall
from ferrule_testkit.processes import survivors

TOOLS = {"trouble": "Trouble", "broken": "Broken", "unwilling": "Unwilling"}


def opener_of(kernel, bench):
    """What opens tools apart, without a session around it; and the manager."""
    work = str(bench.workspace)
    values = kernel.config(ConfigRequest(cwd=work)).values
    manager = kernel.manager(values)
    context = PluginContext(
        bench.host.home, values, work, "t", kernel.environ, runtime=kernel.runtime
    )
    return manager, IsolatedTools(manager, context, print, lambda _, given: given)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def get(what):
    return "trouble", json.dumps({"what": what})


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("ending", 'it ended by itself (exit code 7); its last words: "the last straw"'),
        slow("crashing", "it was killed by SIGSEGV"),
        slow("garbage", "it sent what is no message"),
        slow("huge", "it sent what is no message, or too large a one"),
        slow("nobody", "it sent something else where a number belongs"),
        slow("forging", "it told clients 'turn/completed', which is not a tool's to tell"),
        slow("stretching", "it told what cannot be: "),
    ],
    ids=lambda value: value.partition(" ")[0],
)
def test_the_call_fails_in_words_and_the_next_one_starts_anew(stranger, trouble, words):
    stranger.install("trouble", TOOLS)

    bad, good = stranger.answers(get(trouble), get("fine"))

    assert bad.startswith(f"its process was ended: {words}")
    assert good == "fine"


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("leaving", "trouble failed: SystemExit: enough"),
        slow("large", "17.0 MiB are more than a tool in a process of its own can send"),
        slow("shapeless", "it sent something else where a"),
        slow("posing", "it showed an item 'userMessage', which is not a tool's to show"),
        slow("greedy", "the output of the command is being read already"),
    ],
    ids=lambda value: value.partition(" ")[0],
)
def test_what_is_wrong_with_one_answer_ends_nothing(stranger, trouble, words):
    stranger.install("trouble", TOOLS)

    bad, good = stranger.answers(get(trouble), get("fine"))

    assert words in bad
    assert good == "fine"


@pytest.mark.slow
def test_calls_that_may_overlap_do_so_in_one_process(stranger, bench, stage):
    stranger.install("trouble", TOOLS)
    stage.turns.append([call(*get("meeting"), "c1"), call(*get("meeting"), "c2"), DONE])
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert bench.outputs(stage) == {"c1": "met", "c2": "met"}


@pytest.mark.slow
def test_a_call_that_is_not_approved_yet_changes_nothing(stranger, bench):
    stranger.install("trouble", TOOLS)

    (answer,) = stranger.answers(get("early"))

    assert answer == "a call that is not approved yet can only be looked at"
    assert not (bench.workspace / "early").exists()


@pytest.mark.slow
def test_a_process_that_keeps_ending_is_not_started_for_ever(stranger):
    stranger.install("trouble", TOOLS)

    *_, last = stranger.answers(*[get("ending")] * 5)

    assert "ended 4 times in this session, and is not started again" in last


def test_tools_that_fail_or_are_off_are_left_out_and_the_others_work(stranger):
    stranger.install("trouble", TOOLS)

    (answer,) = stranger.answers(get("fine"))

    offered = {tool.name for tool in stranger.stage.requests[0].tools}
    assert answer == "fine"
    assert offered.isdisjoint({"broken", "unwilling"})
    (warning,) = [text for text in stranger.warnings if "broken" in text]
    assert "cannot be made: RuntimeError: it is broken" in warning


@pytest.mark.parametrize("trouble", [slow("gentle"), "stubborn"])
def test_an_interrupted_call_is_cancelled_and_one_that_does_not_react_is_killed(
    stranger, bench, stage, tmp_path, monkeypatch, trouble
):
    monkeypatch.setattr(
        "ferrule.isolation.connection._GRACE_S", 120.0 if trouble == "gentle" else 0
    )
    stranger.install("trouble", TOOLS)
    stage.turns.append([call(*get(trouble)), DONE])
    stage.turns.append([call(*get("fine"), "c2"), DONE])
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await bench.start(session)
        with anyio.fail_after(120):
            while not (tmp_path / "began").exists():
                await anyio.sleep(0.01)
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")
        await bench.start(session)
        await bench.until("turn/completed", 2)

    bench.run(script)

    assert bench.of("turn/completed")[0]["turn"]["status"] == "interrupted"
    assert bench.outputs(stage)["c2"] == "fine"
    assert (tmp_path / "ended").exists() is (trouble == "gentle")


def test_nothing_of_it_outlives_the_session(stranger, bench):
    bench.host.environ["LEFT_BEHIND"] = marker = f"in {bench.folder}"
    manifest = '[capabilities]\nenvironment = ["LEFT_BEHIND"]'
    stranger.install("trouble", TOOLS, manifest=manifest)

    (answer,) = stranger.answers(get("forking"))

    assert answer == "forked"
    assert survivors(f"LEFT_BEHIND={marker}") == {}


def test_a_session_whose_opening_is_given_up_leaves_no_process(
    stranger, bench, tmp_path, monkeypatch
):
    monkeypatch.setattr("ferrule.isolation.connection._GRACE_S", 0)
    bench.host.environ["LEFT_BEHIND"] = marker = f"in {bench.folder}"
    manifest = '[capabilities]\nenvironment = ["LEFT_BEHIND"]'
    stranger.install("trouble", {"trouble": "Trouble", "sleeper": "Sleeper"}, manifest=manifest)

    async def main(kernel):
        manager, opener = opener_of(kernel, bench)
        good, other = (manager.entry("ferrule.tools", name) for name in ("trouble", "sleeper"))
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                group.start_soon(opener.open, [good, other._replace(distribution="acme-other")])
                while len(list(tmp_path.glob("made-*"))) < 2:
                    await anyio.sleep(0.01)
                await anyio.sleep(0.2)  # that the good one is described, which nobody sees
                group.cancel_scope.cancel()
            while survivors(f"LEFT_BEHIND={marker}"):
                await anyio.sleep(0.01)

    bench.host.run(main)


def test_a_process_that_was_closed_is_not_started_again(stranger, bench):
    stranger.install("trouble", {"trouble": "Trouble"})

    async def main(kernel):
        manager, opener = opener_of(kernel, bench)
        (tool,) = await opener.open([manager.entry("ferrule.tools", "trouble")])
        await tool.aclose()
        with pytest.raises(PluginError, match="has ended with the session, or was replaced"):
            await tool.run(ToolCall("c1", "trouble", {"what": "fine"}, "{}", "function"), scene)

    scene = SimpleNamespace(
        sandbox=SimpleNamespace(policy=ResolvedPolicy("read-only", "/")),
        turn_id="u",
        thread_id="t",
        cwd="/",
        output_token_limit=1,
        ask_client=None,
    )
    bench.host.run(main)
