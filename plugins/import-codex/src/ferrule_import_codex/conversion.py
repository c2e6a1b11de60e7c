"""Turns the records of one Codex thread into the records of one Ferrule thread, one at a time.

What the model saw goes through `model_items`, what people saw through `item_forms`. Threads of
older versions, which told only of messages, get their turns and items from those.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from ferrule_import_codex.item_forms import shown_item, tables, text, user_message
from ferrule_import_codex.model_items import CONTINUED, ModelItems, message, user_words
from ferrule_import_codex.old_calls import OldCalls
from ferrule_import_codex.tables import Table, as_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ferrule_hookspecs.store import RolloutRecord
    from ferrule_import_codex.rollout_lines import Line, Payload

Made = tuple[str, Table]

_COUNTS: Final = {
    "totalTokens": "total_tokens",
    "inputTokens": "input_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
    "outputTokens": "output_tokens",
    "reasoningOutputTokens": "reasoning_output_tokens",
}
_CONTEXT_KEYS: Final = ("cwd", "model", "approval_policy", "sandbox_policy", "effort", "summary")


@dataclass(slots=True)
class Conversion:
    """Converts one thread.

    Attributes:
        thread_id: The thread.
        origin: Where it came from, for its metadata.
        items: Judges what the model saw.
        name: The name a user gave it.
        cwd: Its folder, where its metadata does not say.
        unknown_items: Kinds of items that are not shown here, with how often they came.
    """

    thread_id: str
    origin: str
    items: ModelItems
    name: str | None = None
    cwd: str = ""
    unknown_items: dict[str, int] = field(default_factory=dict[str, int])
    _turn: str = ""
    _is_made_up: bool = False
    _count: int = 0
    _has_usage: bool = False
    _has_history: bool = False
    _is_paginated: bool = False
    _is_bare: bool = False
    _calls: OldCalls = field(default_factory=OldCalls)
    _held: tuple[Line, Table] | None = None
    _model: str = ""

    def records(self, lines: Iterable[Line]) -> Iterator[RolloutRecord]:
        """Yield the thread's records, with their times."""
        stamp, is_first = "", True
        for line in lines:
            stamp = line.timestamp or stamp
            if is_first:
                made = self._meta(line.payload)
                is_first = False
            else:
                made = self._line(line)
            for type_, payload in made:
                yield _record(stamp, type_, payload)
        for type_, payload in self._end():
            yield _record(stamp, type_, payload)

    def _meta(self, meta: Payload) -> Iterator[Made]:
        self._is_paginated = meta.get("history_mode") == "paginated"
        self._is_bare = "cwd" not in meta
        self.items.take_meta(meta)
        git = as_table(meta.get("git")) or {}
        yield (
            "session_meta",
            {
                "id": self.thread_id,
                "session_id": text(meta.get("session_id")) or self.thread_id,
                "timestamp": text(meta.get("timestamp")),
                "cwd": text(meta.get("cwd")) or self.cwd,
                "originator": text(meta.get("originator")) or "codex",
                "cli_version": text(meta.get("cli_version")),
                "source": _source(meta),
                "model_provider": text(meta.get("model_provider")) or "openai",
                "parent_thread_id": _parent(meta),
                "forked_from_id": text(meta.get("forked_from_id")) or None,
                "name": self.name,
                "git": {
                    "sha": text(git.get("commit_hash")) or None,
                    "branch": text(git.get("branch")) or None,
                    "originUrl": text(git.get("repository_url")) or None,
                },
                "imported_from": {"program": "codex", "file": self.origin},
            },
        )
        yield "response_item", self.items.base

    def _line(self, line: Line) -> Iterator[Made]:
        event = text(line.payload.get("type")) if line.type == "event_msg" else ""
        if self._held is not None:
            held, self._held = self._held[1], None
            if event == "user_message":
                yield from self._user_said(line.payload)
                yield from self._history(held)
                return
            yield from self._history(held)
        if line.type == "response_item":
            yield from self._response_item(line)
        elif line.type == "compacted":
            yield from self._compacted(line.payload)
        elif line.type == "turn_context":
            yield from self._context(line.payload)
        elif line.type == "token_usage_record":
            yield from self._usage_record(line.payload)
        elif handler := _EVENTS.get(event):
            yield from handler(self, line.payload)

    def _response_item(self, line: Line) -> Iterator[Made]:
        item = self.items.item(line.payload)
        if self._is_bare:
            yield from self._told(line.payload)
        if item is None:
            return
        is_user = item.get("type") == "message" and item.get("role") == "user"
        if is_user and not self._is_paginated and not self._is_bare:
            self._held = line, item  # a turn that begins with it is told of on the next line
            return
        yield from self._history(item)

    def _told(self, item: Payload) -> Iterator[Made]:
        """Show what the first versions kept only in the model's history."""
        words = "\n".join(text(part.get("text")) for part in tables(item.get("content")))
        if item.get("type") == "reasoning":
            for part in tables(item.get("summary")):
                yield from self._agent_thought(part)
        elif item.get("role") == "assistant":
            yield from self._agent_said({"message": words})
        elif item.get("role") == "user" and user_words(item):
            yield from self._user_said({"message": words})

    def _history(self, item: Table) -> Iterator[Made]:
        self._has_history = True
        yield "response_item", item
        if not self._is_paginated:
            for shown in self._calls.take(item):
                yield from self._shown(shown)

    def _compacted(self, payload: Payload) -> Iterator[Made]:
        replacement = self.items.compacted(payload)
        if replacement is not None:
            words = text(payload.get("message"))
            yield "compacted", {"message": words, "replacement_history": replacement}

    def _context(self, payload: Payload) -> Iterator[Made]:
        context: Table = {key: payload[key] for key in _CONTEXT_KEYS if key in payload}
        self._model = text(context.get("model")) or self._model
        yield "turn_context", context | {"turn_id": payload.get("turn_id")}

    def _usage_record(self, payload: Payload) -> Iterator[Made]:
        self._has_usage = True
        yield (
            "token_usage_record",
            {
                "turn_id": payload.get("turn_id"),
                "response": _usage(payload.get("usage")),
                "turn": _usage(payload.get("turn_token_usage")),
                "thread": _usage(payload.get("thread_token_usage")),
            },
        )

    def _token_count(self, payload: Payload) -> Iterator[Made]:
        total = (as_table(payload.get("info")) or {}).get("total_token_usage")
        if not self._has_usage and as_table(total):
            yield "token_usage_record", {"turn_id": self._turn, "thread": _usage(total)}

    def _turn_started(self, payload: Payload) -> Iterator[Made]:
        yield from self._close_made_up()
        self._count += 1
        self._turn = text(payload.get("turn_id")) or f"{self.thread_id}-{self._count}"
        yield "event_msg", {"type": "task_started", "turn_id": self._turn}

    def _turn_ended(self, payload: Payload) -> Iterator[Made]:
        if not self._turn:
            return
        yield from self._open_calls()
        made: Table = {"type": payload["type"], "turn_id": self._turn}
        made["type"] = "turn_aborted" if payload["type"] == "turn_aborted" else "task_complete"
        made["duration_ms"] = payload.get("duration_ms")
        if made["type"] == "turn_aborted":
            made["reason"] = text(payload.get("reason")) or "interrupted"
        else:
            made["last_agent_message"] = payload.get("last_agent_message")
        yield "event_msg", made
        self._turn, self._is_made_up = "", False

    def _user_said(self, payload: Payload) -> Iterator[Made]:
        if self._is_paginated:
            return
        if not self._turn or self._is_made_up:
            yield from self._turn_started({})
            self._is_made_up = True
        yield from self._shown(user_message(self._next_id(), text(payload.get("message"))))

    def _agent_said(self, payload: Payload) -> Iterator[Made]:
        if not self._is_paginated:
            said = text(payload.get("message"))
            yield from self._shown({"type": "agentMessage", "id": self._next_id(), "text": said})

    def _agent_thought(self, payload: Payload) -> Iterator[Made]:
        if not self._is_paginated:
            made: Table = {"type": "reasoning", "id": self._next_id(), "content": []}
            yield from self._shown(made | {"summary": [text(payload.get("text"))]})

    def _item_completed(self, payload: Payload) -> Iterator[Made]:
        item = as_table(payload.get("item")) or {}
        kind = text(item.get("type"))
        if not self._is_paginated and kind in ("UserMessage", "AgentMessage", "Reasoning"):
            return  # older versions told of these in events of their own, too
        shown = shown_item(item)
        if shown is None:
            self.unknown_items[kind] = self.unknown_items.get(kind, 0) + 1
        else:
            yield from self._shown(shown, text(payload.get("turn_id")))

    def _shown(self, item: Table, turn_id: str = "") -> Iterator[Made]:
        made: Table = {"type": "item_completed", "turn_id": turn_id or self._turn, "item": item}
        if not self._turn:
            yield from self._turn_started({})
            self._is_made_up = True
            made["turn_id"] = self._turn
        yield "event_msg", made

    def _rolled_back(self, payload: Payload) -> Iterator[Made]:
        yield from self._close_made_up()
        turns = payload.get("num_turns")
        if isinstance(turns, int):
            yield "event_msg", {"type": "rollback", "num_turns": turns}

    def _named(self, payload: Payload) -> Iterator[Made]:
        name = text(payload.get("thread_name")) or text(payload.get("name"))
        if self.name is None and name.strip():
            yield "event_msg", {"type": "thread_name", "name": name}

    def _failed(self, payload: Payload) -> Iterator[Made]:
        error = {"message": text(payload.get("message"))}
        made: Table = {"type": "error", "turn_id": self._turn, "error": error}
        yield "event_msg", made | {"will_retry": False}

    def _warned(self, payload: Payload) -> Iterator[Made]:
        yield "event_msg", {"type": "warning", "message": text(payload.get("message"))}

    def _close_made_up(self) -> Iterator[Made]:
        """End a turn whose end nobody told of."""
        if self._turn and self._is_made_up:
            yield from self._turn_ended({"type": "task_complete"})

    def _open_calls(self) -> Iterator[Made]:
        for shown in self._calls.unanswered():
            yield from self._shown(shown)

    def _end(self) -> Iterator[Made]:
        if self._held is not None:
            yield from self._history(self._held[1])
        yield from self._close_made_up()
        if self._has_history:
            yield "response_item", message("developer", CONTINUED)

    def _next_id(self) -> str:
        self._count += 1
        return f"imported-{self._count}"


_EVENTS: Final[dict[str, Callable[[Conversion, Payload], Iterator[Made]]]] = {
    "task_started": Conversion._turn_started,
    "turn_started": Conversion._turn_started,
    "task_complete": Conversion._turn_ended,
    "turn_complete": Conversion._turn_ended,
    "turn_aborted": Conversion._turn_ended,
    "user_message": Conversion._user_said,
    "agent_message": Conversion._agent_said,
    "agent_reasoning": Conversion._agent_thought,
    "item_completed": Conversion._item_completed,
    "token_count": Conversion._token_count,
    "thread_rolled_back": Conversion._rolled_back,
    "thread_name_updated": Conversion._named,
    "error": Conversion._failed,
    "warning": Conversion._warned,
}


def _record(stamp: str, type_: str, payload: Table) -> RolloutRecord:
    made = {"timestamp": stamp, "ordinal": 0, "type": type_, "payload": payload}
    return cast("RolloutRecord", made)


def _usage(value: object) -> Table:
    counts = as_table(value) or {}
    made: Table = {}
    for name, codex_name in _COUNTS.items():
        count = counts.get(codex_name)
        made[name] = count if isinstance(count, int) else 0
    return made


def _source(meta: Mapping[str, object]) -> str:
    source = meta.get("source")
    return source if isinstance(source, str) else "subagent" if source else "cli"


def _parent(meta: Mapping[str, object]) -> str | None:
    """Return the thread that started this one as a subagent, wherever its id stands."""
    if given := text(meta.get("parent_thread_id")):
        return given
    nested = [as_table(meta.get("source")) or {}]
    while nested:
        table = nested.pop()
        if parent := text(table.get("parent_thread_id")):
            return parent
        nested += [inner for value in table.values() if (inner := as_table(value))]
    session = text(meta.get("session_id"))
    is_subagent = as_table(meta.get("source")) is not None
    return session if is_subagent and session != meta.get("id") else None
