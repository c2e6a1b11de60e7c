"""However it ends: with the root end all agents below it, and nothing of them is left."""

import json
import signal

import pytest

HANG = {"items": [], "hang": True}
SLEEP = {"cmd": "sleep 1000", "yield_time_ms": 30_000}


def sleepers(play):
    return [pid for pid, words in play.leftovers().items() if words == "sleep 1000"]


def last_states(play):
    """How the last turn of every stored thread ended, by the task it was given."""
    found = {}
    for file in (play.home.path / "sessions").rglob("*.jsonl"):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        payloads = [record["payload"] for record in records]
        ends = [p["type"] for p in payloads if p.get("type") in ("task_complete", "turn_aborted")]
        items = [p["item"] for p in payloads if p.get("type") == "item_completed"]
        (task,) = (i["content"][0]["text"] for i in items if i["type"] == "userMessage")
        found[task] = ends[-1] if ends else None
    return found


def test_an_interrupt_ends_the_agents_and_their_commands(play, say):
    play.script(
        [say.spawn("TASK-A")],
        HANG,
        **{"TASK-A": [[say.call("exec_command", SLEEP, call_id="sleep")]]},
    )
    with play.running() as process:
        play.until(lambda: sleepers(play) and play.answer("call_spawn"))
        process.send_signal(signal.SIGINT)
        assert process.wait(120) != 0
    play.until(lambda: not play.leftovers())
    assert last_states(play) == {"go": "turn_aborted", "TASK-A": "turn_aborted"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_three_levels_and_six_at_a_time_end_with_the_root(play, say, how):
    play.configure(tables="[agents]\nmax_depth = 3\nmax_threads = 8\n")
    sleep = [say.call("exec_command", SLEEP, call_id="sleep")]
    names = [f"TASK-{number}" for number in range(6)]
    routes = {name: [sleep] for name in (*names, "TASK-X", "TASK-Y")}
    routes["TASK-0"] = [[say.spawn("TASK-X", call_id="x")], sleep]
    routes["TASK-X"] = [[say.spawn("TASK-Y", call_id="y")], sleep]
    play.script([say.spawn(name, call_id=name) for name in names], HANG, **routes)

    with play.running() as process:
        play.until(lambda: len(sleepers(play)) == len(routes))
        play.until(lambda: play.answer("TASK-5"))
        process.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
        assert process.wait(120) != 0
    play.until(lambda: not play.leftovers())

    states = last_states(play)
    assert set(states) == {"go", *routes}
    if how == "interrupt":
        assert set(states.values()) == {"turn_aborted"}


@pytest.mark.slow
def test_a_wait_that_takes_too_long_says_so(play, say):
    play.script(
        [say.spawn("TASK-A")],
        [say.wait(timeout_ms=1)],
        [say.text("ok")],
        **{"TASK-A": [HANG]},
    )
    run = play.run()
    assert json.loads(play.answer("call_wait")) == {"status": {}, "timed_out": True}
    assert run.seconds >= 10
    assert not run.survivors
