"""Turns the bytes of a Chat Completions stream into the events of the contract."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_chat.call_assembly import CallAssembly
from ferrule_chat.reply import Reply
from ferrule_chat.thinking import ThinkTags
from ferrule_chat.untyped import table, tables
from ferrule_chat.usage import read_usage
from ferrule_hookspecs.provider import Completed
from ferrule_wire.failures import disconnected, incomplete_response
from ferrule_wire.sse import BlockSplitter, event_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule_chat.functions import Functions, WrittenCall
    from ferrule_chat.quirks import Quirks
    from ferrule_hookspecs.errors import ProviderError
    from ferrule_hookspecs.provider import ModelEvent
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_wire.text_protocol import ReplyParser

_DONE: Final = b"[DONE]"
_ENDED_EARLY: Final = "stream closed before its finish_reason"
_CUT_SHORT: Final = {
    "length": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",
    "content_filter": "content_filter",
    "safety": "content_filter",
}


class ChatDecoder:
    """Decodes one answer.

    Attributes:
        is_complete: The answer ended as it should.
        failure: Why it ended otherwise; events that came before it are still handed out.
    """

    def __init__(
        self, quirks: Quirks, functions: Functions, parser: ReplyParser | None = None
    ) -> None:
        """Start before the first byte; a parser finds calls that are written as text."""
        self.is_complete = False
        self.failure: ProviderError | None = None
        self.reply = Reply()
        self._quirks = quirks
        self._functions = functions
        self._parser = parser
        self._splitter = BlockSplitter()
        self._tags = ThinkTags(quirks.think_tags)
        self._calls = CallAssembly(quirks.echo_fields)
        self._document: list[bytes] | None = None  # an answer that is no stream
        self._has_begun = False
        self._response_id = ""
        self._usage: TokenUsage | None = None
        self._finish_reason = ""

    def feed(self, data: bytes) -> list[ModelEvent]:
        """Decode more bytes."""
        if not self._has_begun and data.strip():
            self._has_begun = True
            self._document = [] if data.lstrip().startswith((b"{", b"[")) else None
        if self._document is not None:
            self._document.append(data)
            return []
        for block in self._splitter.feed(data):
            self._decode(event_data(block).strip())
            if self.is_complete or self.failure:
                break
        return self._events()

    def end(self) -> list[ModelEvent]:
        """Take note that no more bytes come; many servers close without a last word."""
        if self._document is not None:
            self._decode(b"".join(self._document).strip())
        elif not (self.is_complete or self.failure):
            for block in self._splitter.feed(b"\n\n"):
                self._decode(event_data(block).strip())
        if not (self.is_complete or self.failure):
            if self._finish_reason:
                self._complete()
            else:
                self._fail(disconnected(_ENDED_EARLY))
        return self._events()

    def _events(self) -> list[ModelEvent]:
        events = self.reply.take_events()
        if self.is_complete:
            events.append(Completed(self._response_id, self._usage))
        return events

    def _decode(self, data: bytes) -> None:
        if not data:
            return
        if data == _DONE:
            self._complete()
            return
        try:
            value: object = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self._fail(disconnected("the server sent an event that is not JSON"))
            return
        if isinstance(value, list) and value:  # Gemini wraps its errors
            value = cast("list[object]", value)[0]
        if isinstance(value, dict):
            self._take_chunk(cast("Mapping[str, object]", value))

    def _take_chunk(self, chunk: Mapping[str, object]) -> None:
        choices = tables(chunk.get("choices"))
        if chunk.get("error") or (not choices and chunk.get("object") == "error"):
            self._fail(_stream_failure(chunk))
            return
        self._response_id = str(chunk.get("id") or self._response_id)
        self._usage = read_usage(chunk) or self._usage
        if not choices:
            return
        choice = choices[0]
        if choice.get("error"):
            self._fail(_stream_failure(choice))
            return
        self._take_delta(table(choice.get("delta") or choice.get("message")))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish(reason.lower())

    def _take_delta(self, delta: Mapping[str, object]) -> None:
        for field in self._quirks.reasoning_fields:
            reasoning = delta.get(field)
            if isinstance(reasoning, str) and reasoning:
                self.reply.think(reasoning)
                break
        for field in self._quirks.echo_fields:
            if details := tables(delta.get(field)):
                self.reply.detail(field, details)
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, str):
            self._take_content(content)
        else:
            self._take_parts(tables(content))
        fragments = tables(delta.get("tool_calls"))
        if legacy := table(delta.get("function_call")):
            fragments.append({"index": 0, "function": legacy})
        for fragment in fragments:
            self.reply.close()
            self._send(self._calls.add(fragment))

    def _take_parts(self, parts: Iterable[Mapping[str, object]]) -> None:
        """Take content that comes as a list, as Mistral's reasoning models write it."""
        for part in parts:
            if part.get("type") == "thinking":
                for inner in tables(part.get("thinking")):
                    self.reply.think(str(inner.get("text") or ""))
            elif isinstance(text := part.get("text"), str):
                self._take_content(text)

    def _take_content(self, text: str) -> None:
        for said in self._tags.feed(text):
            self._take_said(said.kind, said.text)

    def _take_said(self, kind: str, text: str) -> None:
        if kind == "reasoning":
            self.reply.think(text)
        elif self._parser is None:
            self._answer(text)
        else:
            self._take_parsed(self._parser, text)

    def _take_parsed(self, parser: ReplyParser, text: str | None) -> None:
        for part in parser.end() if text is None else parser.feed(text):
            if isinstance(part, str):
                self._answer(part)
            else:
                self.reply.call(part)

    def _answer(self, text: str) -> None:
        if not self.reply.is_answering and text.strip():
            self._send(self._calls.take_whole())
        self.reply.say(text)

    def _send(self, calls: Iterable[WrittenCall]) -> None:
        for call in calls:
            self.reply.call(self._functions.call_item(call))

    def _finish(self, reason: str) -> None:
        """Everything was said; only the usage may still come."""
        self._finish_reason = reason
        if reason == "error":
            self._fail(disconnected("the model's provider gave up"))
            return
        for said in self._tags.end():
            self._take_said(said.kind, said.text)
        if reason in _CUT_SHORT:
            self.reply.close()
            self._send(self._calls.take_whole())
            self._fail(incomplete_response(_CUT_SHORT[reason]))
            return
        if self._parser is not None:
            self._take_parsed(self._parser, None)
        self._send(self._calls.take_all())
        self.reply.close()

    def _complete(self) -> None:
        if not self._finish_reason:
            self._finish("stop")
        self.is_complete = self.failure is None

    def _fail(self, error: ProviderError) -> None:
        self.failure = self.failure or error


def _stream_failure(chunk: Mapping[str, object]) -> ProviderError:
    from ferrule_chat.failures import stream_failure  # its patterns take milliseconds to compile

    return stream_failure(chunk)
