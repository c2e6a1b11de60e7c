"""Tells clients of the hooks that run in a turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, cast

from ferrule_hooks.display import (
    event_name,
    handler_type,
    in_order,
    is_shown,
    source_name,
    source_path,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from ferrule_hooks.answers import Answer
    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.hook_runs import HookOutputEntry, HookRun
    from ferrule_hookspecs.plugins import PluginContext


class Announcer:
    """Tells of the runs of a session's hooks."""

    def __init__(self, context: PluginContext, handlers: Sequence[Handler]) -> None:
        self._context = context
        self._places = {each.key: number for number, each in enumerate(in_order(handlers))}

    async def follow(self, handler: Handler, payload: Payload, run: Awaitable[Answer]) -> Answer:
        """Tell of a run, await it, and tell what came of it."""
        turn = payload.get("turn_id")
        if not isinstance(turn, str) or not is_shown(handler):
            return await run
        shown = self._started(handler, payload)
        self._tell("hook/started", turn, shown)
        began = time.monotonic()
        answer = await run
        ended: HookRun = {
            **shown,
            "status": _status(answer),
            "completedAt": int(time.time()),
            "durationMs": int((time.monotonic() - began) * 1000),
            "entries": _entries(answer),
        }
        self._tell("hook/completed", turn, ended)
        return answer

    def _started(self, handler: Handler, payload: Payload) -> HookRun:
        place = self._places.get(handler.key, 0)
        path = source_path(handler, self._context.home)
        words = [handler.facts.label.replace("_", "-"), str(place), path]
        call = payload.get("tool_use_id")
        return {
            "id": ":".join([*words, call] if isinstance(call, str) else words),
            "eventName": event_name(handler),
            "handlerType": handler_type(handler),
            "executionMode": "async" if handler.is_async else "sync",
            "scope": "turn",
            "source": source_name(handler),
            "sourcePath": path,
            "displayOrder": place,
            "status": "running",
            "statusMessage": None,
            "startedAt": int(time.time()),
            "completedAt": None,
            "durationMs": None,
            "entries": [],
        }

    def _tell(self, method: str, turn: str, run: HookRun) -> None:
        params = {"threadId": self._context.thread_id, "turnId": turn, "run": run}
        self._context.emit(cast("Event", {"method": method, "params": params}))


def _status(answer: Answer) -> Literal["completed", "failed", "blocked", "stopped"]:
    if answer.failure is not None:
        return "failed"
    if answer.is_stop:
        return "stopped"
    return "blocked" if answer.decision == "deny" else "completed"


def _entries(answer: Answer) -> list[HookOutputEntry]:
    entries: list[HookOutputEntry] = []
    if answer.failure is not None:
        entries.append({"kind": "error", "text": answer.failure})
    elif answer.decision == "deny":
        entries.append({"kind": "stop" if answer.is_stop else "feedback", "text": answer.reason})
    if answer.context:
        entries.append({"kind": "context", "text": answer.context})
    if answer.message:
        entries.append({"kind": "warning", "text": answer.message})
    return entries
