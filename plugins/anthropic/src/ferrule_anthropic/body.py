"""Builds a request's body, and the headers that belong to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_anthropic.caching import mark_for_caching
from ferrule_anthropic.content import Block, text_block
from ferrule_anthropic.conversation import Prompt, prompt_of
from ferrule_anthropic.settings import API_VERSION
from ferrule_anthropic.thinking import thinking_plan
from ferrule_anthropic.tools import tool_block
from ferrule_wire.identity import stream_headers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ferrule_anthropic.settings import MessagesSettings
    from ferrule_anthropic.thinking import ThinkingPlan
    from ferrule_hookspecs.provider import ModelRequest

_SAFE_MAX_TOKENS: Final = 32_000
"""What every model since Claude 4 can give in one answer."""


class Encoded(NamedTuple):
    """A request, ready to be sent."""

    body: bytes
    headers: Mapping[str, str]


def encode_request(
    request: ModelRequest, settings: MessagesSettings, unreadable: Collection[str] = ()
) -> Encoded:
    """Serialise a request; equal requests give equal bytes.

    Args:
        request: What the kernel asks.
        settings: Of the provider.
        unreadable: Sealed contents of reasoning that the server has refused; left out.
    """
    max_tokens = _max_tokens(request, settings)
    plan = thinking_plan(request, settings, max_tokens)
    prompt = prompt_of(request.input, unreadable=unreadable)
    prompt.system.extend(_schema_in_words(request, settings))
    tools = [tool_block(schema) for schema in request.tools]
    if settings.cache_ttl != "off":
        mark_for_caching(tools, prompt, settings.cache_ttl)
    if _needs_missing_thoughts(plan, prompt):
        plan = plan._replace(thinking=None)
    body: dict[str, object] = {"model": request.model, "max_tokens": max_tokens, "stream": True}
    body |= _given(
        tools=tools,
        tool_choice=_tool_choice(request),
        system=prompt.system,
        messages=prompt.messages,
        thinking=plan.thinking,
        output_config=_output_config(request, settings, plan),
    )
    encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # A command's output may hold lone surrogates, which no UTF-8 text can carry.
    return Encoded(encoded.encode("utf-8", "replace"), _headers([*plan.betas, *settings.betas]))


def _given(**values: object) -> dict[str, object]:
    return {key: value for key, value in values.items() if value}


def _max_tokens(request: ModelRequest, settings: MessagesSettings) -> int:
    known = request.model_info.max_output_tokens if request.model_info else None
    return settings.max_tokens or known or _SAFE_MAX_TOKENS


def _headers(betas: Sequence[str]) -> dict[str, str]:
    headers = stream_headers() | {"anthropic-version": API_VERSION}
    if betas:
        headers["anthropic-beta"] = ",".join(dict.fromkeys(betas))
    return headers


def _tool_choice(request: ModelRequest) -> Block | None:
    if request.parallel_tool_calls or not request.tools:
        return None
    return {"type": "auto", "disable_parallel_tool_use": True}


def _output_config(
    request: ModelRequest, settings: MessagesSettings, plan: ThinkingPlan
) -> dict[str, object]:
    schema = request.output_schema if settings.output_schema == "native" else None
    format_ = {"type": "json_schema", "schema": dict(schema)} if schema is not None else None
    return _given(effort=plan.effort, format=format_)


def _schema_in_words(request: ModelRequest, settings: MessagesSettings) -> list[Block]:
    if request.output_schema is None or settings.output_schema == "native":
        return []
    schema = json.dumps(dict(request.output_schema), ensure_ascii=False)
    return text_block(
        "Your last message must be one JSON value that follows this JSON Schema, and nothing else:"
        f"\n{schema}"
    )


def _needs_missing_thoughts(plan: ThinkingPlan, prompt: Prompt) -> bool:
    """Whether a budget is asked for in the middle of a turn that began without thinking.

    The API refuses that: a turn with a budget begins with a thought, calls and results included.
    """
    if plan.thinking is None or plan.thinking["type"] != "enabled":
        return False
    start: Block | None = None
    for at in range(len(prompt.messages) - 1, 0, -2):
        results = cast("list[Block]", prompt.messages[at]["content"])
        if any(block["type"] != "tool_result" for block in results):
            break
        start = cast("list[Block]", prompt.messages[at - 1]["content"])[0]
    return start is not None and not str(start["type"]).endswith("thinking")
