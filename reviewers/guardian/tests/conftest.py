"""A guardian without a kernel: a provider that answers what it is told to, and a thread."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_hookspecs.review import ReviewContext, ReviewRequest
from ferrule_hookspecs.tools import ToolCall, TurnInfo
from ferrule_reviewer_guardian.reviewer import GuardianReviewer

USAGE = {
    "totalTokens": 110,
    "inputTokens": 100,
    "cachedInputTokens": 0,
    "cacheWriteInputTokens": 0,
    "outputTokens": 10,
    "reasoningOutputTokens": 0,
}


def verdict(outcome="allow", risk="low", authorization="high", rationale="as asked"):
    return json.dumps(
        {
            "risk_level": risk,
            "user_authorization": authorization,
            "outcome": outcome,
            "rationale": rationale,
        }
    )


def said(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def called(name="exec_command", arguments="{}", call_id="old"):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def returned(output, call_id="old"):
    return {"type": "function_call_output", "call_id": call_id, "output": output}


class Model:
    """A provider that says one text after the other; exceptions are raised, "hang" hangs."""

    name = "scripted"
    stream_max_retries = 0

    def __init__(self):
        self.answers = []
        self.requests = []

    async def stream(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        await anyio.lowlevel.checkpoint()
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await anyio.sleep_forever()
        yield ItemDone(said("assistant", answer))
        yield Completed("r", USAGE)

    async def aclose(self):
        return None


@dataclass
class Desk:
    """One session's guardian, and what it is asked."""

    model: Model
    config: dict
    history: list = field(default_factory=list)
    user_texts: list = field(default_factory=list)
    events: list = field(default_factory=list)
    opened: list = field(default_factory=list)
    turn_id: str = "turn"
    parent: str | None = None
    count: int = 0

    def __post_init__(self):
        self.reviewer = GuardianReviewer(
            PluginContext(Path("/nowhere"), self.config, name="auto_review")
        )

    def user(self, text):
        self.user_texts.append(text)
        self.history.append(said("user", text))

    def review(self, command="make install", *, tool="exec_command", **changes):
        """Have a command reviewed that the model has just called for."""
        return anyio.run(self.areview, command, tool, changes)

    async def areview(self, command, tool="exec_command", changes=None):
        self.count += 1
        arguments = {"cmd": command}
        call_id = f"call_{self.count}"
        call = ToolCall(call_id, tool, arguments, json.dumps(arguments), "function")
        request = ReviewRequest(
            "thread", self.turn_id, call, None, "it leaves the sandbox", "/work", escalation=True
        )
        self.history.append(called(tool, call.text, call_id))
        context = ReviewContext(
            turn=TurnInfo("thread", self.turn_id, "/work", "gpt-5.5", self.parent),
            history=tuple(self.history),
            user_texts=tuple(self.user_texts),
            provider=self._open,
            emit=self.events.append,
        )
        outcome = await self.reviewer.review(request._replace(**(changes or {})), context)
        self.history.append(returned("ok", call_id))
        return outcome

    def _open(self, name):
        self.opened.append(name)
        return self.model

    def sent(self, number=-1):
        """The text of the last message of a review."""
        return self.model.requests[number].input[-1]["content"][0]["text"]

    def records(self, number=-1):
        """What a review told, as records."""
        lines = self.sent(number).splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("-----BEGIN RECORDS"))
        end = next(i for i, line in enumerate(lines) if line.startswith("-----END RECORDS"))
        return [json.loads(line) for line in lines[begin + 1 : end]]


@pytest.fixture(autouse=True)
def unattended(monkeypatch):
    """Nobody sits at the terminal these tests may have been started from."""
    monkeypatch.setattr("os.isatty", lambda _: False)


@pytest.fixture
def desk():
    """Make a desk; keys of `[auto_review]` may be given."""

    def make(**auto_review):
        return Desk(Model(), {"auto_review": auto_review, "model_providers": {}})

    return make
