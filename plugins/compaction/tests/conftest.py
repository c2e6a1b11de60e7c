"""A provider that says what a test tells it to, and the request that is to be summed up."""

from pathlib import Path

import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelRequest
from ferrule_hookspecs.slots import CompactionMaterial
from ferrule_hookspecs.tools import FunctionSchema


def said(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def called(number, output):
    call_id = f"call_{number}"
    call = {"type": "function_call", "call_id": call_id, "name": "shell", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": call_id, "output": output}]


class ToldProvider:
    """Answers each request with the next of what it is given: a text, items or an error."""

    name = "Told"
    stream_max_retries = 5

    def __init__(self, answers):
        self.answers = list(answers)
        self.requests = []

    async def stream(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        items = [said("assistant", answer)] if isinstance(answer, str) else answer
        for item in items:
            yield ItemDone(item)
        yield Completed("r", None)


class Talk:
    """What the tests speak with."""

    said = staticmethod(said)
    called = staticmethod(called)
    provider = ToldProvider

    @staticmethod
    def context(folder=Path("/nowhere"), **config):
        return PluginContext(Path("/nowhere"), config, cwd=str(folder))

    @staticmethod
    def request(body, **changes):
        prefix = [said("developer", "You are an agent."), said("user", "<environment/>")]
        tools = (FunctionSchema("shell", "Runs a command.", {"type": "object"}),)
        fields = {"thread_id": "t", "turn_id": "u", "model": "m", "tools": tools} | changes
        return ModelRequest(input=(*prefix, *body), **fields)

    @staticmethod
    def material(user_texts=("Do it.",), *, tokens=1_000, ledger=None, window=None, prefix=2):
        return CompactionMaterial(prefix, tuple(user_texts), ledger, tokens, window)

    @staticmethod
    def texts(items):
        return [item["content"][0]["text"] for item in items if item["type"] == "message"]


@pytest.fixture
def talk():
    """Messages, calls, requests and a provider."""
    return Talk


@pytest.fixture
def anyio_backend():
    return "asyncio"
