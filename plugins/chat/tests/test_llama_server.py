"""The real server of llama.cpp, on a small model: opt in with --run-slow.

`FERRULE_TEST_GGUF` names the model, 0.5B and up; `FERRULE_TEST_LLAMA_PYTHON` an interpreter that
has `xllamacpp`, where this one has not.
"""

import json
import os
import subprocess
import sys

import pytest

from ferrule_hookspecs.provider import Completed
from ferrule_hookspecs.tools import FunctionSchema

WEIGHTS = os.environ.get("FERRULE_TEST_GGUF", "")
PYTHON = os.environ.get("FERRULE_TEST_LLAMA_PYTHON", sys.executable)
SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.use_jinja, params.warmup = 2048, 1, True, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
RUN = FunctionSchema(
    "run",
    "Runs a shell command and returns its output.",
    {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]},
)
SURE = {"extra_body": {"temperature": 0, "seed": 1}, "max_tokens": 120}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not WEIGHTS, reason="FERRULE_TEST_GGUF names no model"),
]


@pytest.fixture(scope="module")
def llama():
    """The base URL of a server that lives as long as this module's tests."""
    process = subprocess.Popen(
        [PYTHON, "-c", SERVE, WEIGHTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        address = process.stdout.readline().strip()
        assert address, f"{PYTHON} cannot start xllamacpp with {WEIGHTS}"
        yield f"{address}/v1"
        process.kill()


@pytest.fixture
def ask(talk, make_request, llama):
    def run(*history, quirks=None, **changes):
        request = make_request(input=list(history), **changes)
        return talk(request, base_url=llama, name="llama.cpp", quirks=SURE | (quirks or {}))

    return run


def user(text):
    content = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": "user", "content": content}


def test_an_answer_streams_and_is_counted(ask):
    heard = ask(user("Say hello in three words."))
    assert heard.error is None
    assert heard.text
    assert heard.of(Completed)[0].usage["outputTokens"] > 1


def test_a_call_is_made_in_text_and_its_result_is_read(ask):
    question = user("Which files are in the current folder? Call the tool to find out.")
    heard = ask(question, tools=[RUN], quirks={"tool_calls": "text"})
    assert heard.error is None
    (call,) = [item for item in heard.items if "call_id" in item]
    assert call["name"] == "run"
    assert "ls" in json.loads(call["arguments"])["cmd"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "zebra.txt\n"}
    history = [question, call, output, user("Name the file. Do not call a tool again.")]
    answer = ask(*history, tools=[RUN], quirks={"tool_calls": "text"})
    assert answer.error is None
    assert "zebra" in answer.text


def test_a_history_of_native_calls_is_accepted(ask):
    calls = [
        {"type": "function_call", "call_id": each, "name": "run", "arguments": '{"cmd": "ls"}'}
        for each in ("c1", "c2")
    ]
    outputs = [
        {"type": "function_call_output", "call_id": each, "output": "zebra.txt\n"}
        for each in ("c1", "c2")
    ]
    heard = ask(user("Which file is here?"), *calls, *outputs, user("Name it."), tools=[RUN])
    assert heard.error is None
    assert heard.items


def test_a_schema_holds_the_answer_to_its_form(ask):
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    heard = ask(user("What colour is the sky?"), output_schema=schema)
    assert heard.error is None
    assert list(json.loads(heard.text)) == ["colour"]


def test_a_full_context_is_recognised(ask):
    assert ask(user("word " * 3000)).error.kind == "contextWindowExceeded"


def test_an_answer_that_is_too_long_is_cut_off_by_name(ask):
    heard = ask(user("Count to one hundred."), quirks={"max_tokens": 5})
    assert "max_output_tokens" in str(heard.error)
