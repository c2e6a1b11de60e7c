"""Events of a session and where an output writes them."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from ferrule_exec.outcome import Outcome
from ferrule_exec.stream import Stream


class Written:
    """A stream into a file, and what has been written so far."""

    def __init__(self, path) -> None:
        self._path = path
        self.stream = Stream(os.open(path, os.O_RDWR | os.O_CREAT))

    @property
    def text(self) -> str:
        return self._path.read_text()


@pytest.fixture
def written(tmp_path):
    made = []

    def make(name: str) -> Written:
        made.append(Written(tmp_path / name))
        return made[-1]

    yield make
    for each in made:
        os.close(each.stream.fd)


@pytest.fixture
def event():
    """Makes events of a session as the contract defines them."""

    def make(method: str, **params):
        return {"method": method, "params": {"threadId": "t", "turnId": "u", **params}}

    make.started = lambda item: make("item/started", item=item, startedAtMs=0)
    make.completed = lambda item: make("item/completed", item=item, completedAtMs=0)
    return make


@pytest.fixture
def usage():
    def make(given: int, answered: int, cached: int = 0):
        return {
            "totalTokens": given + answered,
            "inputTokens": given,
            "cachedInputTokens": cached,
            "cacheWriteInputTokens": 0,
            "outputTokens": answered,
            "reasoningOutputTokens": 0,
        }

    return make


@pytest.fixture
def outcome(usage):
    def make(status="completed", message="", last="done"):
        return Outcome(status, message, last, usage(100, 10, 50), usage(300, 30, 150))

    return make


@pytest.fixture
def session():
    facts = SimpleNamespace(
        model="big",
        model_provider="mock",
        approval_policy="never",
        sandbox_mode="workspace-write",
        sandbox_policy={"type": "workspaceWrite", "networkAccess": True},
        writable_roots=("/extra",),
        reviewer="user",
        reasoning_effort=None,
        reasoning_summary=None,
    )
    return SimpleNamespace(thread={"id": "thread-1", "cwd": "/work"}, facts=facts)
