"""Playing a recorded conversation."""

import json

import anyio
import pytest

from ferrule_hookspecs.errors import ConfigError, ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import (
    Completed,
    ItemAdded,
    ItemDone,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from ferrule_replay.provider import ReplayProvider
from ferrule_testkit.model_items import function_call, message, reasoning


@pytest.fixture
def play(tmp_path):
    """Ask a provider that plays the given answers so many times."""

    def run(answers, times=1):
        (tmp_path / "talk.json").write_text(json.dumps(answers))
        settings = {"name": "demo", "wire_api": "replay", "file": "talk.json"}
        provider = ReplayProvider(
            PluginContext(home=tmp_path, config={}, cwd=str(tmp_path), settings=settings)
        )

        async def main():
            request = ModelRequest("thread", "turn", "recorded", [], [])
            return [[event async for event in provider.stream(request)] for _ in range(times)]

        return anyio.run(main)

    return run


def test_a_message_is_given_word_by_word(play):
    assert play([[message("Two words.")]])[0][:-1] == [
        ItemAdded({**message("Two words."), "content": []}),
        TextDelta("Two "),
        TextDelta("words."),
        ItemDone(message("Two words.")),
    ]


def test_calls_and_reasoning_are_given_whole(play):
    call = function_call("exec_command", {"cmd": "ls"})
    events = play([[reasoning("because"), call]])[0]
    assert ReasoningDelta("because", 0) in events
    assert ItemDone(call) in events


def test_answers_are_given_in_their_order(play):
    first, second = play([[message("first")], [message("second")]], times=2)
    assert (first[-2].item, second[-2].item) == (message("first"), message("second"))
    assert isinstance(second[-1], Completed)
    assert second[-1].usage["outputTokens"] > 0


def test_the_end_of_the_conversation_is_an_error_that_says_so(play, tmp_path):
    with pytest.raises(ProviderError, match=r"talk.json' is over: its 1 answers") as caught:
        play([[message("only")]], times=2)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("settings", "text", "message_"),
    [
        ({}, None, "needs `settings.file`"),
        ({"file": "talk.json"}, None, "cannot be read: No such file or directory"),
        ({"file": "talk.json"}, "{", "is no JSON"),
        ({"file": "talk.json"}, "{}", "is not a list of answers"),
        ({"file": "talk.json"}, '[[], [{"x": 1}]]', "answer 2 of the recorded conversation"),
    ],
    ids=["no-file", "missing", "no-json", "no-list", "no-item"],
)
def test_a_file_that_cannot_be_played_is_said_to_be_so(tmp_path, settings, text, message_):
    if text is not None:
        (tmp_path / "talk.json").write_text(text)
    with pytest.raises(ConfigError, match=message_):
        ReplayProvider(
            PluginContext(home=tmp_path, config={}, cwd=str(tmp_path), settings=settings)
        )
