"""What the provider says before and after the model does; no weights are needed here."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from ferrule_hookspecs.errors import ConfigError, ProviderError
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelRequest, ReasoningDelta, TextDelta
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_local.partial_json import GrowingText
from ferrule_local.prompt import SYSTEM
from ferrule_local.provider import LocalProvider
from ferrule_local.spoken_step import TOO_LONG, SpokenStep
from ferrule_local.steps import offered

SHELL = FunctionSchema("exec_command", "", {})


def provider(home: Path, **settings: object) -> LocalProvider:
    environ = dict(os.environ)
    return LocalProvider(PluginContext(home, {}, environ=environ, settings=settings))


def request(*history: dict) -> ModelRequest:
    user = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Say hello."}],
    }
    return ModelRequest("t", "u", "qwen2.5-coder-1.5b-instruct", [user, *history], [SHELL])


def events(of: LocalProvider, asked: ModelRequest) -> list:
    async def collect() -> list:
        try:
            return [event async for event in of.stream(asked)]
        finally:
            await of.aclose()

    return anyio.run(collect)


def test_missing_weights_are_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(ProviderError, match=r"ferrule local pull --model 1\.5b` \(1\.1 GB\)"):
        events(provider(tmp_path), request())


def test_a_path_that_leads_nowhere_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"settings\.path: there is no file"):
        events(provider(tmp_path, path=str(tmp_path / "none.gguf")), request())


def test_a_setting_out_of_range_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"local\.settings\.threads must be a whole number"):
        provider(tmp_path, threads=0)


def test_a_file_that_is_no_model_is_an_error_and_leaves_no_process(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(ProviderError, match=r"broken\.gguf"):
        events(provider(tmp_path, path=str(broken)), request())


def test_a_history_that_does_not_fit_asks_for_compaction(tmp_path):
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "x" * 60_000}],
    }
    with pytest.raises(ProviderError, match="no longer fits") as caught:
        events(provider(tmp_path), request(said))
    assert caught.value.kind == "contextWindowExceeded"


def test_going_in_circles_ends_the_turn_with_an_honest_message(tmp_path):
    history = []
    for number in range(3):
        call = {
            "type": "function_call",
            "call_id": f"c{number}",
            "name": "exec_command",
            "arguments": '{"cmd": "ls"}',
        }
        answer = {"type": "function_call_output", "call_id": f"c{number}", "output": "a"}
        history += [call, answer]
    *_, done, completed = events(provider(tmp_path), request(*history))
    assert isinstance(done, ItemDone)
    assert "same step 3 times" in done.item["content"][0]["text"]
    assert isinstance(completed, Completed)


def test_a_turn_has_an_end(tmp_path):
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}
    said = events(provider(tmp_path, max_steps=1), request(call))
    assert "stopped after 1 steps" in said[-2].item["content"][0]["text"]


def test_the_prompt_stays_small():
    assert len(SYSTEM) < 3_000  # about 650 tokens, which cost 20 s to read on one busy core


def spoken(text: str, *, has_schema: bool = False) -> list:
    step = SpokenStep(offered([SHELL]), has_schema=has_schema)
    found = [event for letter in text for event in step.add(letter)]
    return [*found, *step.end()]


def test_a_step_is_reasoning_and_a_call():
    said = spoken('{"why": "It \\"helps\\".", "tool": "run", "command": "ls"}')
    assert "".join(e.delta for e in said if isinstance(e, ReasoningDelta)) == 'It "helps".'
    reasoning, call = [event.item for event in said if isinstance(event, ItemDone)]
    assert reasoning["summary"][0]["text"] == 'It "helps".'
    assert (call["name"], call["arguments"].startswith('{"cmd": "ls"')) == ("exec_command", True)


def test_the_last_message_streams():
    said = spoken('{"why": "", "tool": "done", "message": "All \\u00fc\\ud83d\\ude00 \\n done."}')
    assert len([event for event in said if isinstance(event, TextDelta)]) > 5
    assert said[-1].item["content"][0]["text"] == "All ü😀 \n done."


def test_a_message_under_a_schema_comes_whole_as_json():
    said = spoken('{"why": "", "tool": "done", "message": {"n": 3}}', has_schema=True)
    assert said[-1].item["content"][0]["text"] == '{"n": 3}'


def test_a_step_that_was_cut_off_is_told():
    said = spoken('{"why": "Long.", "tool": "write", "path": "a", "content": "x')
    assert said[-1].item["content"][0]["text"] == TOO_LONG


@pytest.mark.parametrize(
    "text", ["plain", 'quote " and \\ and \n', "ü😀", "ends with \\"], ids=repr
)
def test_a_growing_text_is_read_as_it_was_written(text):
    import json

    for ascii_only in (True, False):
        written = json.dumps({"why": '"key": "', "key": text}, ensure_ascii=ascii_only)
        growing = GrowingText("key")
        pieces = [growing.read(written[:end]) for end in range(len(written) + 1)]
        assert text.startswith("".join(pieces))
        if "😀" not in text:
            assert "".join(pieces) == text
