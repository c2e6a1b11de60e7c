"""Tool calls written as plain text: what a model reads, and what becomes of what it writes."""

import json

import pytest

from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_wire.text_protocol import ReplyParser, as_messages, call_block, describe_tools

RUN = FunctionSchema("run", "Runs a command.", {"type": "object", "properties": {"cmd": {}}})
PATCH = FreeformSchema("apply_patch", "Edits files.", "lark", "start: begin")
CALL = '{"name": "run", "arguments": {"cmd": "ls"}}'


def parsed(reply, *, size=None, tools=(RUN, PATCH)):
    """Feed a reply in pieces of a size; text is joined, calls stand as (name, argument)."""
    parser = ReplyParser(tools)
    size = size or max(len(reply), 1)
    found = []
    for start in range(0, len(reply), size):
        found += parser.feed(reply[start : start + size])
    found += parser.end()
    text = "".join(part for part in found if isinstance(part, str))
    calls = [part for part in found if not isinstance(part, str)]
    return text, [(call["name"], call.get("arguments", call.get("input"))) for call in calls]


@pytest.mark.parametrize("size", [1, 2, 7, None], ids=["1", "2", "7", "whole"])
@pytest.mark.parametrize(
    "reply",
    [
        f"I look.\n```tool\n{CALL}\n```",
        f"I look.\n```tool\n{CALL}\n```\nIt says: guessed",
        f"I look.\n```tool\n{CALL}",
        f"I look.\n  ```tool {CALL}\n```\n",
        f"I look.\n```json\n{CALL}\n```",
        f"I look.\n```tool_call\n{CALL}```\n",
        f"I look.\n<tool_call>\n{CALL}\n</tool_call>",
        f"I look.\n<tool_call>{CALL}</tool_call>\n",
        'I look.\n```tool run\n{"cmd": "ls"}\n```',
        'I look.\n```tool\n{"name": "run", "cmd": "ls"}\n```',
        'I look.\n```tool\n{"name": "run", "parameters": {"cmd": "ls"}}\n```',
    ],
    ids=[
        "as told", "with a guess", "left open", "one line", "json", "tool_call", "tags",
        "tags in one line", "name behind the fence", "flat", "parameters",
    ],
)  # fmt: skip
def test_a_block_becomes_a_call_however_it_is_cut(reply, size):
    text, ((name, arguments),) = parsed(reply, size=size)
    assert (text, name, json.loads(arguments)) == ("I look.\n", "run", {"cmd": "ls"})


@pytest.mark.parametrize("size", [1, None], ids=["1", "whole"])
def test_several_blocks_are_several_calls(size):
    text, calls = parsed(f"```tool\n{CALL}\n```\n\n```tool\n{CALL}\n```\n", size=size)
    assert text == ""
    assert [name for name, _ in calls] == ["run", "run"]


@pytest.mark.parametrize("size", [1, 3, None], ids=["1", "3", "whole"])
@pytest.mark.parametrize(
    "reply",
    [
        "no block at all",
        "a `tool` and ``` in a line\n```",
        '```python\nprint("tool")\n```\n',
        '```json\n{"name": "ferrule", "version": 1}\n```\nbye',
        "```toolbox\nhammer\n```",
        "``",
        "<tool",
    ],
)
def test_everything_else_is_text_byte_for_byte(reply, size):
    assert parsed(reply, size=size) == (reply, [])


def test_text_is_handed_on_as_it_comes():
    parser = ReplyParser([RUN])
    assert [parser.feed(piece) for piece in ("He", "llo ", "```", "\nx")] == [
        ["He"], ["llo "], ["```"], ["\n", "x"],
    ]  # fmt: skip
    assert parser.feed("\n``") == ["\n"]
    assert parser.feed("`py") == ["```py"]


@pytest.mark.parametrize("size", [1, None], ids=["1", "whole"])
def test_plain_text_tools_get_their_input_as_it_is(size):
    patch = "*** Begin Patch\n*** Add File: a.md\n+```tool\n+```\n*** End Patch\n"
    _, calls = parsed(f"```tool apply_patch\n{patch}```", size=size)
    assert calls == [("apply_patch", patch)]
    quoted = json.dumps({"name": "apply_patch", "arguments": {"input": patch}})
    assert parsed(f"```tool\n{quoted}\n```")[1] == [("apply_patch", patch)]


def test_broken_json_is_a_call_nobody_can_read_so_that_the_model_hears_of_it():
    body = '{"name": "run", "arguments": {"cmd": "ls}}'
    assert parsed(f"```tool\n{body}\n```")[1] == [("run", body)]


def test_line_breaks_inside_of_strings_are_forgiven():
    _, ((_, arguments),) = parsed('```tool\n{"name": "run", "arguments": {"cmd": "a\nb"}}\n```')
    assert json.loads(arguments) == {"cmd": "a\nb"}


def test_the_tools_are_described_with_their_schemas():
    text = describe_tools([RUN, PATCH])
    assert '"cmd":{}' in text
    assert "The only tools are: `run`, `apply_patch`." in text
    assert '{"name": "run", "arguments": {}}' in text
    assert "start: begin" in text
    assert "```tool NAME" in text
    assert "```tool NAME" not in describe_tools([RUN])
    assert describe_tools([]) == ""


def test_what_a_model_reads_of_its_own_calls_is_what_it_should_write():
    call = {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"cmd": "ls"}'}
    patch = {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** x\n"}
    assert parsed(call_block(call))[1] == [("run", '{"cmd": "ls"}')]
    assert parsed(call_block(patch))[1] == [("apply_patch", "*** x\n")]


def test_a_history_becomes_messages_alone():
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    image = {"type": "input_image", "image_url": "data:,x"}
    messages = as_messages(
        [
            user,
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a.txt\n"},
            {"type": "function_call_output", "call_id": "c", "output": [image]},
            {"type": "web_search_call"},
        ]
    )
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert messages[0] is user
    assert messages[2]["content"][0]["text"] == ('<tool_result name="run">\na.txt\n</tool_result>')
    assert messages[3]["content"][1] == image


def test_a_call_in_a_namespace_is_written_with_the_tool_s_whole_name():
    call = {
        "type": "function_call",
        "call_id": "c1",
        "namespace": "mcp__demo",
        "name": "echo",
        "arguments": "{}",
    }
    output = {"type": "function_call_output", "call_id": "c1", "output": "x"}

    texts = [each["content"][0]["text"] for each in as_messages([call, output])]

    assert '"name": "mcp__demo__echo"' in texts[0]
    assert 'name="mcp__demo__echo"' in texts[1]
