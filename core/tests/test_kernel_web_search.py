"""Searches that the provider runs by itself: how they are shown, whatever becomes of the stream."""

import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import ItemAdded, ItemDone

SEARCH = {"type": "search", "query": "rust async", "queries": ["rust async", "tokio"]}


def call(action=None, id_="ws1", **fields):
    item = {"type": "web_search_call", "status": "completed", **fields}
    if id_ is not None:
        item["id"] = id_
    if action is not None:
        item["action"] = action
    return item


def shown(bench, method):
    return [p["item"] for p in bench.of(method) if p["item"]["type"] == "webSearch"]


def fields(item):
    return item["id"], item["query"], item["action"]


def test_a_search_is_shown_from_its_announcement_to_its_end(bench, stage):
    stage.turns.append([ItemAdded(call()), ItemDone(call(SEARCH)), *say("ok"), DONE])

    bench.turn()

    assert [fields(item) for item in shown(bench, "item/started")] == [("ws1", "", None)]
    assert [fields(item) for item in shown(bench, "item/completed")] == [
        ("ws1", "rust async", SEARCH)
    ]


@pytest.mark.parametrize(
    ("action", "query"),
    [
        (SEARCH, "rust async"),
        ({"type": "search", "queries": ["a", "b"]}, "a"),
        ({"type": "open_page", "url": "https://example.com/x"}, "https://example.com/x"),
        (
            {"type": "find_in_page", "url": "https://example.com", "pattern": "x"},
            "'x' in https://example.com",
        ),
        ({"type": "unheard_of"}, ""),
    ],
    ids=["words", "several", "page", "in page", "unknown"],
)
def test_what_is_looked_for_is_told(bench, stage, action, query):
    stage.turns.append([ItemDone(call(action)), *say("ok"), DONE])

    bench.turn()

    for method in ("item/started", "item/completed"):
        assert [fields(item) for item in shown(bench, method)] == [("ws1", query, action)]


def test_the_model_reads_of_its_search_with_the_next_request(bench, stage):
    stage.turns.extend([[ItemDone(call(SEARCH)), *say("ok"), DONE], [*say("ok"), DONE]])
    session = bench.turn()
    bench.events.clear()

    bench.turn(resume=session.thread["id"])

    assert call(SEARCH) in stage.requests[-1].input


def test_a_search_without_a_name_gets_one(bench, stage):
    stage.turns.append([ItemAdded(call(id_=None)), ItemDone(call(id_=None)), *say("ok"), DONE])

    bench.turn()

    (started,), (ended,) = shown(bench, "item/started"), shown(bench, "item/completed")
    assert started["id"] == ended["id"]


@pytest.mark.parametrize("retries", [True, False], ids=["tried again", "for good"])
def test_a_search_whose_stream_breaks_is_over(bench, stage, retries):
    lost = ProviderError("cut off", retryable=retries)
    stage.turns.extend([[ItemAdded(call()), lost], [ItemDone(call(SEARCH)), *say("ok"), DONE]])

    bench.turn()

    started, ended = shown(bench, "item/started"), shown(bench, "item/completed")
    assert len(started) == len(ended) == 1 + retries
    assert ended[0]["action"] is None
    assert bench.of("turn/completed")[0]["turn"]["status"] == ("completed" if retries else "failed")


def test_a_search_that_is_interrupted_is_over(bench, stage):
    stage.turns.append([ItemAdded(call()), "hang"])

    async def script(session):
        await bench.start(session)
        await bench.until("item/started", count=2)
        await bench.perform(session, "turn/interrupt", turnId="")
        await bench.until("turn/completed")

    bench.run(script)

    assert len(shown(bench, "item/completed")) == 1
