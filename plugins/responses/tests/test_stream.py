"""What a provider makes of an answer that goes well."""

import anyio
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemAdded, ItemDone, ReasoningDelta, TextDelta
from ferrule_responses.provider import ResponsesProvider
from ferrule_testkit.model_items import freeform_call, function_call, message, reasoning


def test_an_answer_becomes_events_that_end_with_completed(model_server, talk):
    model_server.play([[message("Hello there")]])
    heard = talk()
    assert heard.events[0] == ItemAdded({**message("Hello there"), "content": []})
    assert "".join(event.delta for event in heard.of(TextDelta)) == "Hello there"
    assert heard.events[-2] == ItemDone(message("Hello there"))
    assert isinstance(heard.events[-1], Completed)


def test_calls_and_reasoning_arrive_whole(model_server, talk):
    items = [
        reasoning("first", "second"),
        function_call("exec_command", {"cmd": "ls"}),
        freeform_call("apply_patch", "*** Begin Patch"),
    ]
    model_server.play([items])
    heard = talk()
    assert [event.item for event in heard.of(ItemDone)] == items
    assert heard.of(ReasoningDelta) == [ReasoningDelta("first", 0), ReasoningDelta("second", 1)]


def test_raw_reasoning_has_no_index(model_server, talk):
    event = {"type": "response.reasoning_text.delta", "delta": "hm"}
    model_server.play([{"events": [event], "no_completed": True}])
    assert talk().of(ReasoningDelta) == [ReasoningDelta("hm", None)]


def test_usage_counts_cached_written_and_reasoning_tokens(model_server, talk):
    usage = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 20},
        "total_tokens": 1050,
    }
    model_server.play([{"items": [message("x")], "usage": usage}])
    assert talk().of(Completed)[0].usage == {
        "totalTokens": 1050,
        "inputTokens": 1000,
        "cachedInputTokens": 600,
        "cacheWriteInputTokens": 100,
        "outputTokens": 50,
        "reasoningOutputTokens": 20,
    }


def test_a_response_without_usage_has_none(model_server, talk):
    model_server.play([{"events": [{"type": "response.completed", "response": {"id": "r"}}]}])
    assert talk().events == [Completed("r", None, None)]


def test_the_wish_to_go_on_is_passed_on(model_server, talk):
    model_server.play([{"items": [message("x")], "end_turn": False}])
    assert talk().of(Completed)[0].end_turn is False


def test_unknown_events_and_odd_blocks_are_passed_over_and_unknown_items_carried(
    model_server, talk
):
    unknown = {"type": "totally_unknown_item", "id": "z"}
    model_server.play(
        [
            {
                "events": [
                    ": a comment\n\n",
                    "retry: 10\n\n",
                    "data: not json\n\n",
                    "data: [1, 2]\n\n",
                    "event: response.bogus\ndata: {broken\n\n",
                    {"type": "response.bogus_event", "x": 1},
                    {"type": "response.output_item.done", "item": "no table"},
                    {"type": "response.output_item.done", "item": unknown},
                    'data: {"type": "response.output_item.done",\ndata: "item": {"type": "q"}}\n\n',
                    {"type": "response.completed", "response": {"id": "r", "output": []}},
                ]
            }
        ]
    )
    heard = talk()
    assert heard.error is None
    assert [event.item for event in heard.of(ItemDone)] == [unknown, {"type": "q"}]


def test_deltas_that_arrive_together_are_joined(model_server, talk):
    model_server.play([{"deltas": {"count": 20_000, "text": "ab "}}])
    heard = talk()
    assert "".join(event.delta for event in heard.of(TextDelta)) == "ab " * 20_000
    assert len(heard.events) < 2_000


def test_a_large_item_arrives_whole(model_server, talk):
    text = "ü" * 3_000_000
    model_server.play([{"events": [{"type": "response.output_item.done", "item": message(text)}]}])
    assert talk().of(ItemDone)[0].item["content"][0]["text"] == text


def test_requests_of_a_session_share_one_connection(model_server, talk, make_request):
    model_server.play([[message("a")], {"status": 400}, [message("b")]])
    talk(make_request(), make_request(), make_request())
    assert len({request.connection for request in model_server.requests}) == 1


def test_a_connection_the_server_has_closed_is_replaced(model_server, talk, make_request):
    model_server.play(
        [{"items": [message("a")], "headers": {"connection": "close"}}, [message("b")]]
    )
    _, second = talk(make_request(), make_request(), request_max_retries=0)
    assert second.error is None
    assert len({request.connection for request in model_server.requests}) == 2


def test_a_connection_that_died_while_it_was_free_is_replaced(model_server, make_request, tmp_path):
    model_server.play([[message("a")], [message("b")]])
    settings = {"base_url": model_server.base_url, "request_max_retries": 0}

    async def main():
        provider = ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=settings))
        for _ in range(2):
            events = [event async for event in provider.stream(make_request())]
            model_server.hang_up()
        await provider.aclose()
        return events

    assert isinstance(anyio.run(main)[-1], Completed)


def test_a_reader_that_stops_early_leaves_the_provider_usable(model_server, make_request, tmp_path):
    model_server.play([{"items": [message("a b c")], "hang": True}, [message("again")]])
    settings = {"base_url": model_server.base_url}

    async def main():
        provider = ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=settings))
        with anyio.move_on_after(0.2) as scope:
            async for _ in provider.stream(make_request()):
                pass
        again = [event async for event in provider.stream(make_request())]
        await provider.aclose()
        return scope.cancelled_caught, again

    was_cancelled, again = anyio.run(main)
    assert was_cancelled
    assert isinstance(again[-1], Completed)


@pytest.mark.parametrize("has_prewarm", [True, False], ids=["prewarmed", "cold"])
def test_prewarming_is_optional(model_server, make_request, tmp_path, has_prewarm):
    model_server.play([[message("x")]])
    settings = {"base_url": model_server.base_url}

    async def main():
        provider = ResponsesProvider(PluginContext(home=tmp_path, config={}, settings=settings))
        if has_prewarm:
            await anyio.to_thread.run_sync(provider.prewarm)
        events = [event async for event in provider.stream(make_request())]
        await provider.aclose()
        return events

    assert isinstance(anyio.run(main)[-1], Completed)
