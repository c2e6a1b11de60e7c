"""Chat Completions as llama.cpp's own server speaks it, with a real model from a file.

    FERRULE_TEST_GGUF=weights.gguf pytest --run-slow tests/e2e/providers

`FERRULE_TEST_LLAMA_PYTHON` is an interpreter that has xllamacpp, where this one has not. What a
small model says is up to it, and so is whether it calls a tool; that the run ends is not.
"""

import os
import subprocess
import sys

import pytest

PYTHON = os.environ.get("FERRULE_TEST_LLAMA_PYTHON", sys.executable)
WEIGHTS = os.environ.get("FERRULE_TEST_GGUF", "")
PROMPT = "Run the command `echo ferrule-was-here` with your tool exec_command, then say its output."
SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup, params.use_jinja = 16384, 1, False, True
params.hostnames, params.port = ["127.0.0.1"], 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not WEIGHTS, reason="needs weights: name a file in FERRULE_TEST_GGUF"),
]


@pytest.fixture(scope="module")
def llama_cpp():
    """The base URL of a server."""
    command = [PYTHON, "-c", SERVER, WEIGHTS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:
        address = next((line for line in process.stdout if line.startswith("http://")), "")
        assert address, f"{PYTHON} cannot start xllamacpp with {WEIGHTS}"
        yield f"{address.strip()}/v1"
        process.kill()


@pytest.fixture
def configure(llama_cpp, ferrule_home):
    def run(tool_calls):
        object.__setattr__(ferrule_home, "base_url", llama_cpp)
        body = "{temperature = 0, seed = 1}"
        quirks = f'{{tool_calls = "{tool_calls}", max_tokens = 200, extra_body = {body}}}'
        table = f"settings.quirks = {quirks}\nstream_max_retries = 0"
        ferrule_home.configure(wire_api="chat", provider=table)
        return ferrule_home

    return run


@pytest.mark.parametrize("tool_calls", ["native", "text"])
def test_a_run_with_a_real_model_ends(configure, tool_calls):
    run = configure(tool_calls).run("exec", "--json", PROMPT, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.events[-1]["type"] == "turn.completed"
    assert run.events[-1]["usage"]["output_tokens"] > 0
    assert run.items("agent_message") or run.items("command_execution")
