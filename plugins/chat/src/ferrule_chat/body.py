"""The request body, as the vendor wants it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_chat.functions import Functions
from ferrule_chat.messages import chat_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_chat.messages import Message
    from ferrule_chat.quirks import Quirks
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.provider import ModelRequest

_SCHEMA_NAME: Final = "ferrule_output"
_SCHEMA_IN_WORDS: Final = (
    "Your last message, the one without tool calls, must be one JSON value that follows this JSON "
    "Schema, with nothing before or after it: {schema}"
)


def encode_request(request: ModelRequest, quirks: Quirks, *, in_text: bool) -> bytes:
    """Serialise a request; equal requests give equal bytes.

    Args:
        request: What the kernel asks.
        quirks: How the vendor wants it.
        in_text: Whether tools are told and called in plain text.
    """
    body: dict[str, object] = {"model": request.model}
    body["messages"] = _messages(request, quirks, in_text=in_text)
    if request.tools and not in_text:
        body["tools"] = Functions(request.tools).definitions()
        if quirks.parallel_tool_calls:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    body["stream"] = True
    if quirks.stream_usage:
        body["stream_options"] = {"include_usage": True}
    body |= _wishes(request, quirks, in_text=in_text)
    body |= quirks.extra_body
    encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict)
    # A command's output may hold lone surrogates, which no UTF-8 text can carry.
    return encoded.encode("utf-8", "replace")


def _messages(request: ModelRequest, quirks: Quirks, *, in_text: bool) -> list[Message]:
    history: Sequence[HistoryItem] = request.input
    extra: list[str] = []
    if in_text or not request.tools:  # several APIs refuse calls where no tools are given
        from ferrule_wire.text_protocol import as_messages, describe_tools

        history = as_messages(history)
        extra.append(describe_tools(request.tools))
    form = _schema_form(request, quirks, in_text=in_text)
    if request.output_schema is not None and form != "json_schema":
        schema = json.dumps(dict(request.output_schema), default=dict)
        extra.append(_SCHEMA_IN_WORDS.format(schema=schema))
    if texts := [text for text in extra if text]:
        history = _with_instructions(history, "\n\n".join(texts))
    info = request.model_info
    has_vision = info is None or "image" in info.input_modalities
    return chat_messages(history, quirks, has_vision=has_vision)


def _with_instructions(history: Sequence[HistoryItem], text: str) -> list[HistoryItem]:
    """Put instructions behind those the history begins with, so that they stand together."""
    place = 0
    for item in history:
        if item["type"] != "message" or item["role"] not in ("developer", "system"):
            break
        place += 1
    message = {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": text}],
    }
    return [*history[:place], cast("HistoryItem", message), *history[place:]]


def _schema_form(request: ModelRequest, quirks: Quirks, *, in_text: bool) -> str:
    """How the schema is sent; beside tools in text, an enforced one would forbid the calls."""
    if not request.tools:
        return quirks.output_schema
    return "off" if in_text or not quirks.output_schema_beside_tools else quirks.output_schema


def _reasons(info: ModelInfo | None) -> bool:
    """Whether an effort may be named: servers refuse it for models that know none."""
    return info is None or bool(info.reasoning_efforts)


def _wishes(request: ModelRequest, quirks: Quirks, *, in_text: bool) -> dict[str, object]:
    wishes: dict[str, object] = {}
    if request.reasoning_effort is not None and _reasons(request.model_info):
        effort = quirks.efforts.get(request.reasoning_effort, request.reasoning_effort)
        if quirks.reasoning_effort == "field":
            wishes["reasoning_effort"] = effort
        elif quirks.reasoning_effort == "object":
            wishes["reasoning"] = {"effort": effort}
    if request.verbosity is not None and quirks.verbosity:
        wishes["verbosity"] = request.verbosity
    if quirks.max_tokens and quirks.max_tokens_field:
        wishes[quirks.max_tokens_field] = quirks.max_tokens
    if request.output_schema is not None:
        form = _schema_form(request, quirks, in_text=in_text)
        if form == "json_schema":
            schema = dict(request.output_schema)
            named = {"name": _SCHEMA_NAME, "strict": True, "schema": schema}
            wishes["response_format"] = {"type": form, "json_schema": named}
        elif form == "json_object":
            wishes["response_format"] = {"type": form}
    if quirks.prompt_cache_key:
        wishes["prompt_cache_key"] = request.thread_id
    return wishes
