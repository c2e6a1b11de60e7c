"""Steps become calls of the session's own tools, and stored calls become the same steps again."""

from __future__ import annotations

import json

import pytest

from ferrule_hookspecs.tools import FreeformSchema, FunctionSchema
from ferrule_local.dialogue import AGAIN, Dialogue
from ferrule_local.steps import offered, to_call, to_result, to_step

SHELL = FunctionSchema("exec_command", "", {})
PATCH = FreeformSchema("apply_patch", "", "lark", "")
READER = FunctionSchema("read_file", "", {})
ALL = offered([SHELL, PATCH, READER])

STEPS = [
    {"tool": "run", "command": "ls -la | wc -l"},
    {"tool": "write", "path": "a b/c.py", "content": "def f():\n    return '\"'\n\n# ü\n"},
    {"tool": "write", "path": "empty", "content": ""},
    {"tool": "read", "path": "it's here.txt"},
]


@pytest.mark.parametrize("step", STEPS, ids=["run", "write", "write nothing", "read"])
@pytest.mark.parametrize("tools", [ALL, offered([SHELL])], ids=["all tools", "only a shell"])
def test_a_step_comes_back_as_it_was(step, tools):
    assert to_step(to_call(step, tools, "call_1")) == step


def test_the_tools_of_the_session_are_called():
    calls = [to_call(step, ALL, "call_1") for step in (STEPS[0], STEPS[1], STEPS[3])]
    assert [call["name"] for call in calls] == ["exec_command", "apply_patch", "read_file"]
    assert json.loads(calls[0]["arguments"])["cmd"] == "ls -la | wc -l"
    assert calls[1]["type"] == "custom_tool_call"
    assert calls[1]["input"].startswith("*** Begin Patch\n*** Add File: a b/c.py\n+def f():\n")


def test_a_patch_tool_with_json_arguments_is_called_so():
    tools = offered([FunctionSchema("apply_patch", "", {})])
    call = to_call(STEPS[1], tools, "call_1")
    assert call["type"] == "function_call"
    assert to_step(call) == STEPS[1]


def test_a_path_cannot_smuggle_a_second_section_into_the_patch():
    step = {"tool": "write", "path": "a\n*** Delete File: b", "content": "x\n"}
    call = to_call(step, ALL, "call_1")
    assert "\n*** Delete File" not in call["input"]


def test_a_text_with_the_end_mark_in_it_is_written_whole():
    step = {"tool": "write", "path": "a", "content": "one\nEND\nrm -rf x\n"}
    call = to_call(step, offered([SHELL]), "call_1")
    assert "<<'END_'" in json.loads(call["arguments"])["cmd"]
    assert to_step(call) == step


def test_what_the_session_lacks_is_not_offered_to_the_model():
    assert offered([]).kinds == []
    assert offered([READER]).kinds == ["read"]
    assert offered([PATCH, READER]).kinds == ["read", "write"]
    assert offered([SHELL]).kinds == ["run", "read", "write"]


HEADER = "Chunk ID: a1b2c3\nWall time: 0.1 seconds\n{}\nOriginal token count: 3\nOutput:\n"


@pytest.mark.parametrize(
    ("tool", "output", "expected"),
    [
        ("run", HEADER.format("Process exited with code 0") + "37\n", "37\n"),
        ("run", HEADER.format("Process exited with code 0"), "(no output)"),
        (
            "run",
            HEADER.format("Process exited with code 2") + "no such file\n",
            "failed with exit code 2\nno such file\n",
        ),
        (
            "run",
            HEADER.format("Process running with session ID 7") + "listening\n",
            "listening\n(it still runs)",
        ),
        ("run", HEADER.format("Process exited with code 0") + "Exit code: 1\n", "Exit code: 1\n"),
        ("write", "Exit code: 0\nWall time: 0.0 seconds\nOutput:\nSuccess.\nA a\n", "written"),
        ("write", "patch rejected: writing outside", "failed: patch rejected: writing outside"),
        ("read", "     1\tdef f():\n     2\t    pass\n", "def f():\n    pass\n"),
    ],
    ids=["run", "silent", "failed", "runs on", "fake code", "written", "refused", "read"],
)
def test_results_are_told_in_few_words(tool, output, expected):
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    assert to_result({"tool": tool}, item) == expected


def text(role: str, words: str) -> dict:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}


def taken(step: dict, output: str, call_id: str, why: str = "") -> list[dict]:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": why}]}
    answer = {"type": "function_call_output", "call_id": call_id, "output": output}
    return [reasoning, to_call(step, ALL, call_id), answer]


def test_the_history_is_the_dialogue_the_model_had():
    step = {"tool": "run", "command": "wc -l < a"}
    history = [
        text("developer", "You are a coding agent."),
        text("user", "Use tabs.\n\n<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        text("user", "Count."),
        *taken(step, HEADER.format("Process exited with code 0") + "3\n", "c1", "A command."),
        text("assistant", "It has 3."),
        text("user", "Thanks."),
    ]
    assert Dialogue(history).messages == [
        {"role": "user", "content": "Notes about the project:\nUse tabs.\n\nTask: Count."},
        {
            "role": "assistant",
            "content": '{"why": "A command.", "tool": "run", "command": "wc -l < a"}',
        },
        {"role": "user", "content": "Result: 3\n"},
        {"role": "assistant", "content": '{"why": "", "tool": "done", "message": "It has 3."}'},
        {"role": "user", "content": "Task: Thanks."},
    ]


def test_more_history_only_adds_to_the_messages():
    step = {"tool": "read", "path": "a"}
    history = [text("user", "Read."), *taken(step, "x", "c1"), *taken(STEPS[0], "y", "c2")]
    shorter, longer = Dialogue(history[:4]).messages, Dialogue(history).messages
    assert longer[: len(shorter)] == shorter


def test_a_long_result_is_cut_in_its_middle():
    history = [text("user", "Read."), *taken(STEPS[3], "a" * 5_000 + "z" * 5_000, "c1")]
    result = Dialogue(history).messages[-1]["content"]
    assert len(result) < 1_700
    assert "8500 characters left out" in result
    assert result.endswith("zzz\nThe task: Read.")


def test_a_repeated_step_is_told_and_counted():
    history = [text("user", "Go.")]
    for number in range(3):
        history += taken(STEPS[0], "same", f"c{number}", f"reason {number}")
    dialogue = Dialogue(history)
    assert (dialogue.repeats, dialogue.steps, dialogue.last_tool) == (3, 3, "run")
    assert dialogue.messages[-1]["content"].endswith(AGAIN)
    assert Dialogue([*history, text("user", "Again.")]).repeats == 0


def test_calls_of_another_model_and_unanswered_ones_are_told_as_well():
    call = {"type": "function_call", "call_id": "c", "name": "update_plan", "arguments": '{"a": 1}'}
    messages = Dialogue([text("user", "Go."), call]).messages
    assert messages[1]["content"] == '{"why": "", "tool": "update_plan", "a": 1}'
    assert messages[2]["content"] == "Result: it was interrupted"
