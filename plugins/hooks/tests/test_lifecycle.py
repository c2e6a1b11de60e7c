"""Events that a single run of exec cannot bring about, through the hooks of the contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrule_hookspecs.hooks import Notification

pytestmark = pytest.mark.anyio
SHAPES = json.loads(Path(__file__).with_name("shapes.json").read_text())


def told(place):
    return json.loads((place.ws / "told.json").read_text())


async def test_a_subagent_has_events_of_its_own(place, hook):
    place.write(
        "home",
        {
            "SubagentStart": [hook("cat > told.json; echo be a good child", "default")],
            "SubagentStop": [hook("cat > told.json; echo once more >&2; exit 2")],
            "Stop": [hook("touch stopped")],
        },
    )
    turn = place.turn(parent_thread_id="parent")
    async with place.session() as plugin:
        await plugin.ferrule_subagent_start(place.context(), "parent")
        start = told(place)
        reply = await plugin.ferrule_prompt_submit([], turn)
        more = await plugin.ferrule_turn_stop(turn, "child done")
        stop = told(place)
    assert reply.context == "be a good child"
    assert (start["session_id"], start["agent_id"]) == ("parent", "t1")
    assert set(SHAPES["SubagentStart"]) - start.keys() == {"turn_id"}  # no turn has begun
    assert set(SHAPES["SubagentStop"]) == stop.keys()
    assert stop["last_assistant_message"] == "child done"
    assert more.prompt == "<hook_prompt>\nonce more\n</hook_prompt>"
    assert not (place.ws / "stopped").exists()


async def test_events_of_a_subagent_s_turn_name_it(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("cat > told.json")]})
    async with place.session() as plugin:
        turn = place.turn(parent_thread_id="parent")
        await plugin.ferrule_tool_before(bash("ls"), turn, place.context())
    assert {"session_id": "parent", "agent_id": "t1"}.items() <= told(place).items()


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("cat > told.json", None),
        ("exit 1", None),
        ("echo later >&2; exit 2", "deny"),
        ("""echo '{"continue": false}'""", "deny"),
    ],
)
async def test_a_hook_may_keep_the_history(place, hook, line, decision):
    place.write("home", {"PreCompact": [hook(line, "auto")]})
    async with place.session() as plugin:
        verdict = await plugin.ferrule_compact_before(place.turn(), "overflow")
        assert await plugin.ferrule_compact_before(place.turn(), "manual") is None
    assert (verdict and verdict.decision) == decision


async def test_a_compaction_that_is_done_is_told_with_what_set_it_off(place, hook):
    place.write("home", {"PostCompact": [hook("cat > told.json", "manual")]})
    async with place.session() as plugin:
        await plugin.ferrule_compact_before(place.turn(), "manual")
        await plugin.ferrule_compact_after(place.turn(), "short")
    assert {"trigger": "manual", "compact_summary": "short"}.items() <= told(place).items()


@pytest.mark.parametrize(("status", "is_told"), [("interrupted", True), ("completed", False)])
async def test_an_interrupted_turn_is_told(place, hook, status, is_told):
    place.write("home", {"Interrupt": [hook("cat > told.json")]})
    async with place.session() as plugin:
        await plugin.ferrule_turn_end(place.turn(), {"id": "u1", "status": status, "items": []})
    assert (place.ws / "told.json").exists() == is_told


async def test_notifications_match_by_their_type(place, hook):
    place.write("home", {"Notification": [hook("cat > told.json", "permission_prompt")]})
    async with place.session() as plugin:
        for kind in ("turn_complete", "approval_needed"):
            notification = Notification(kind, "t1", "u1", str(place.ws))
            await plugin.ferrule_notify(notification, place.context())
    assert told(place)["message"] == "an approval is needed"


async def test_session_start_matches_by_its_source(place, hook):
    place.write("home", {"SessionStart": [hook("touch ran", "resume|clear")]})
    async with place.session():
        assert not (place.ws / "ran").exists()


async def test_the_end_of_a_session_does_not_wait_for_ever(place, hook, monkeypatch):
    monkeypatch.setattr("ferrule_hooks.lifecycle._ENDING_S", 0.2)
    place.write("home", {"SessionEnd": [hook("sleep 1000", timeout=600)]})
    async with place.session():
        pass
    assert "did not end within 0.2 s" in place.warnings[-1]


async def test_sessions_do_not_know_each_other_s_hooks(place, hook, bash):
    place.write("home", {"PreToolUse": [hook("exit 2")]})
    async with place.session() as plugin:
        (place.home / "hooks.json").unlink()
        place.is_bypassed = False
        other = place.context("t2")
        await plugin.ferrule_session_start(other, "startup")
        turn = place.turn(thread_id="t2")
        assert await plugin.ferrule_tool_before(bash("ls"), turn, other) is None
        assert (await place.before(bash("ls")))[1].decision == "deny"
        await plugin.ferrule_session_end(other, "closed")
