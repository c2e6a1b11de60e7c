"""The server shortens a history itself."""

import anyio
import pytest

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_responses.provider import ResponsesProvider

SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
KEPT = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
USAGE = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}


@pytest.fixture
def compact(model_server, make_request, tmp_path):
    """Ask for a shorter history; `answer` is the server's."""

    def run(**answer):
        model_server.play([answer])

        async def main():
            table = {"name": "scripted", "base_url": model_server.base_url}
            provider = ResponsesProvider(PluginContext(tmp_path, {}, settings=table))
            try:
                return [event async for event in provider.compact(make_request(input=[KEPT]))]
            finally:
                await provider.aclose()

        return anyio.run(main)

    return run


def test_the_items_of_the_shorter_history_and_what_it_cost(model_server, compact):
    events = compact(status=200, body={"id": "r", "output": [KEPT, SEALED], "usage": USAGE})

    assert [event.item for event in events if isinstance(event, ItemDone)] == [KEPT, SEALED]
    assert isinstance(events[-1], Completed)
    assert events[-1].usage["totalTokens"] == 100
    (request,) = model_server.requests
    assert request.path == "/v1/responses/compact"
    assert request.body == {
        "model": "gpt-5.5",
        "input": [KEPT],
        "prompt_cache_key": "thread-1",
    }


def test_what_is_no_item_is_passed_over(compact):
    events = compact(status=200, body={"output": [1, None, "type", {}, SEALED]})

    assert [event.item for event in events if isinstance(event, ItemDone)] == [SEALED]


@pytest.mark.parametrize("body", [{"id": "r"}, [], {"output": "none"}], ids=repr)
def test_an_answer_without_a_history_is_a_failure(compact, body):
    with pytest.raises(ProviderError, match="no shorter history"):
        compact(status=200, body=body)


def test_a_refusal_is_told_in_the_words_of_the_server(compact):
    with pytest.raises(ProviderError, match="not for this model") as caught:
        compact(status=400, body={"error": {"message": "not for this model"}})
    assert not caught.value.retryable
