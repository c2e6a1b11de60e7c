"""What plugins keep with a thread, and turns that they begin."""

from kernel_plugins.speech import DONE, say


def services(stage):
    """Those of the session that was opened last."""
    starts = [given for name, given in stage.hook_calls if name == "ferrule_session_start"]
    return starts[-1]["context"].services


def seen(bench, stage, **changes):
    """Open a thread; returns what is kept with it."""
    found = []

    async def script(session):
        found.append(services(stage).kept("mine"))

    bench.run(script, **changes)
    return found[0]


def test_a_value_is_there_again_when_the_thread_is_resumed(bench, stage):
    async def script(session):
        services(stage).keep("mine", {"count": 1})
        services(stage).keep("mine", {"count": 2})
        services(stage).keep("other", {})
        assert services(stage).kept("mine") == {"count": 2}

    session = bench.run(script)

    assert seen(bench, stage, resume=session.thread["id"]) == {"count": 2}
    assert seen(bench, stage) is None


def test_a_value_that_was_taken_away_stays_away(bench, stage):
    async def script(session):
        services(stage).keep("mine", {"count": 1})
        services(stage).keep("mine", None)

    session = bench.run(script)

    assert seen(bench, stage, resume=session.thread["id"]) is None


def test_a_plugin_begins_a_turn_with_what_it_injected(bench, stage):
    stage.turns.append([*say("seen"), DONE])
    note = {"type": "input_text", "text": "look at this"}

    async def script(session):
        item = {"type": "message", "role": "developer", "content": [note]}
        await services(stage).inject([item])
        await services(stage).begin_turn()
        await bench.until("turn/completed")

    bench.run(script)

    assert stage.requests[0].input[-1]["content"] == [note]
    assert bench.items("userMessage") == []
