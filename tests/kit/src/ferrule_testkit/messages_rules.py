"""What the Messages API refuses: a request that breaks one of its rules gets a 400, as from it.

Where the real API is lenient in a way that no client should need, this is strict: messages must
alternate, for one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

_Table = Mapping[str, Any]
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_IMAGE_TYPES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_THINKING: Final = ("adaptive", "enabled", "disabled", "between_tools")
_COMBINERS: Final = frozenset(("oneOf", "allOf", "anyOf"))
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_MOST_CACHE_MARKS: Final = 4
_LEAST_BUDGET: Final = 1024
_REQUIRED: Final = ("model", "max_tokens", "messages")
_KEYS: Final = frozenset(
    (*_REQUIRED, "system", "tools", "tool_choice", "stream", "thinking", "output_config")
)
"""Every key a request may have here; the real API knows more, which no provider of ours sends."""
_BLOCKS: Final = {
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
}


class _RuleError(Exception):
    """A rule is broken; the message is the server's."""


def seal(thinking: str) -> str:
    """The signature of a thinking block with this text."""
    return base64.b64encode(hashlib.sha256(thinking.encode("utf-8", "replace")).digest()).decode()


def broken_rule(raw: bytes, headers: Mapping[str, str]) -> tuple[int, object] | None:
    """Check a request; returns the status and the body of the refusal, None if all is well."""
    try:
        _check(_table(json.loads(raw, parse_constant=_no_constant), "request"), headers)
    except (_RuleError, ValueError) as error:
        inner = {"type": "invalid_request_error", "message": str(error)}
        return 400, {"type": "error", "error": inner, "request_id": "req_scripted"}
    return None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _check(body: _Table, headers: Mapping[str, str]) -> None:
    _must("anthropic-version" in headers, "anthropic-version: header is required")
    for key in body:
        _must(key in _KEYS, f"{key}: Extra inputs are not permitted")
    for key, type_ in zip(_REQUIRED, (str, int, list), strict=True):
        _must(isinstance(body.get(key), type_), f"{key}: Field required")
    _must(body["max_tokens"] >= 1, "max_tokens: Input should be greater than or equal to 1")
    _check_system(body)
    _check_tools(body)
    _check_messages([_table(message, "messages") for message in body["messages"]])
    _check_thinking(body)
    _check_output(body)
    _check_cache_marks(body)


def _check_system(body: _Table) -> None:
    system = body.get("system", "-")
    blocks: list[object] = [{"type": "text", "text": system}] if isinstance(system, str) else system
    for number, block in enumerate(blocks):
        _must(_table(block, "system").get("type") == "text", f"system.{number}: must be text")
        _check_text(_table(block, "system"), f"system.{number}")


def _check_tools(body: _Table) -> None:
    tools = [_table(tool, "tools") for tool in body.get("tools", [])]
    names = [tool.get("name") for tool in tools]
    _must(len(names) == len(set(names)), "tools: Tool names must be unique.")
    for number, tool in enumerate(tools):
        place = f"tools.{number}.custom"
        is_named = _TOOL_NAME.fullmatch(str(tool.get("name", "")))
        _must(is_named, f"{place}.name: String should match pattern '{_TOOL_NAME.pattern}'")
        schema = _table(tool.get("input_schema"), f"{place}.input_schema")
        _must(schema.get("type") == "object", f"{place}.input_schema.type: Field required")
        _must(
            _COMBINERS.isdisjoint(schema),
            f"{place}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top"
            " level",
        )
    _must(tools or "tool_choice" not in body, "tool_choice: may only be given with tools")


def _check_messages(messages: list[_Table]) -> None:
    _must(messages, "messages: at least one message is required")
    open_calls: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        place, role = f"messages.{number}", message.get("role")
        _must(role in _BLOCKS, f"{place}: role must be 'user' or 'assistant'")
        _must(
            role == ("user", "assistant")[number % 2],
            f'{place}: roles must alternate between "user" and "assistant", beginning with "user"',
        )
        blocks = message.get("content")
        _must(isinstance(blocks, list) and blocks, f"{place}: content must not be empty")
        tables = [_table(block, place) for block in cast("list[object]", blocks)]
        for index, block in enumerate(tables):
            _check_block(block, str(role), f"{place}.content.{index}")
        if role == "user":
            _check_results(tables, open_calls, place)
        open_calls = [str(block["id"]) for block in tables if block["type"] == "tool_use"]
        _must(seen.isdisjoint(open_calls), f"{place}: `tool_use` ids must be unique")
        _must(len(set(open_calls)) == len(open_calls), f"{place}: `tool_use` ids must be unique")
        seen.update(open_calls)
        last = tables[-1]["type"]
        _must(
            role == "user" or not str(last).endswith("thinking"),
            f"{place}: The final block in an assistant message cannot be `thinking`.",
        )
    _must(
        messages[-1]["role"] == "user",
        "This model does not support assistant message prefill. The conversation must end with a"
        " user message.",
    )


def _check_results(blocks: list[_Table], open_calls: list[str], place: str) -> None:
    results = [block for block in blocks if block["type"] == "tool_result"]
    _must(blocks[: len(results)] == results, f"{place}: `tool_result` blocks must come first")
    answered = [str(block.get("tool_use_id")) for block in results]
    missing = [call for call in open_calls if call not in answered]
    _must(
        not missing,
        f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        + ", ".join(missing),
    )
    strays = [call for call in answered if call not in open_calls]
    _must(
        not strays,
        f"{place}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
        + ", ".join(strays),
    )
    _must(len(set(answered)) == len(answered), f"{place}: each tool_use must have a single result")


def _check_block(block: _Table, role: str, place: str) -> None:
    type_ = block.get("type")
    _must(type_ in _BLOCKS[role], f"{place}.type: {type_!r} is not allowed for the role {role}")
    _CHECKS[str(type_)](block, place)


def _check_text(block: _Table, place: str) -> None:
    text = block.get("text")
    _must(isinstance(text, str), f"{place}.text.text: Field required")
    _must(str(text).strip(), "messages: text content blocks must contain non-whitespace text")


def _check_image(block: _Table, place: str) -> None:
    source = _table(block.get("source"), f"{place}.source")
    if source.get("type") == "url":
        _must(str(source.get("url")).startswith("https://"), "Only HTTPS URLs are supported.")
        return
    _must(source.get("type") == "base64", f"{place}.source.type: must be base64 or url")
    _must(source.get("media_type") in _IMAGE_TYPES, f"{place}.source.base64.media_type: unknown")
    base64.b64decode(str(source.get("data")), validate=True)


def _check_tool_result(block: _Table, place: str) -> None:
    content = block.get("content", "")
    if isinstance(content, list):
        for number, part in enumerate(cast("list[object]", content)):
            inner = _table(part, place)
            _must(inner.get("type") in ("text", "image"), f"{place}: text and images only")
            _CHECKS[str(inner["type"])](inner, f"{place}.content.{number}")


def _check_tool_use(block: _Table, place: str) -> None:
    is_sound = _CALL_ID.fullmatch(str(block.get("id", "")))
    _must(is_sound, f"{place}.tool_use.id: String should match pattern '{_CALL_ID.pattern}'")
    is_named = _TOOL_NAME.fullmatch(str(block.get("name", "")))
    _must(is_named, f"{place}.tool_use.name: String should match pattern")
    _must(isinstance(block.get("input"), dict), f"{place}.tool_use.input: should be an object")


def _check_thinking_block(block: _Table, place: str) -> None:
    _must(
        block.get("signature") == seal(str(block.get("thinking"))),
        f"{place}: Invalid `signature` in `thinking` block",
    )


def _check_redacted(block: _Table, place: str) -> None:
    _must(block.get("data"), f"{place}.redacted_thinking.data: Field required")


def _check_thinking(body: _Table) -> None:
    thinking = _table(body.get("thinking", {"type": "disabled"}), "thinking")
    kind = thinking.get("type")
    _must(kind in _THINKING, f"thinking.type: should be one of {', '.join(_THINKING)}")
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    _must(budget >= _LEAST_BUDGET, "thinking.enabled.budget_tokens: should be at least 1024")
    _must(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`")
    first = _loop_start(body["messages"])
    _must(
        first is None or str(first["type"]).endswith("thinking"),
        "Expected `thinking` or `redacted_thinking`, but found other content: when `thinking` is"
        " enabled, a final `assistant` message must start with a thinking block",
    )


def _loop_start(messages: list[_Table]) -> _Table | None:
    """The first block the model said since the user last spoke, if tools were called since."""
    start = None
    for place in range(len(messages) - 1, 0, -2):
        if any(block["type"] != "tool_result" for block in messages[place]["content"]):
            break
        start = messages[place - 1]["content"][0]
    return start


def _check_output(body: _Table) -> None:
    config = _table(body.get("output_config", {}), "output_config")
    effort = config.get("effort", "high")
    _must(effort in _EFFORTS, f"output_config.effort: should be one of {', '.join(_EFFORTS)}")
    format_ = _table(config.get("format", {"type": "json_schema", "schema": {}}), "output_config")
    _must(format_.get("type") == "json_schema", "output_config.format.type: unknown")
    _table(format_.get("schema"), "output_config.format.schema")


def _check_cache_marks(body: _Table) -> None:
    marked = [block for block in _tables_in(body) if "cache_control" in block]
    _must(
        len(marked) <= _MOST_CACHE_MARKS,
        f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.",
    )
    for block in marked:
        is_fit = not str(block.get("type")).endswith("thinking")
        _must(is_fit, "cache_control: cannot be set for thinking blocks")


def _tables_in(value: object) -> Iterator[_Table]:
    """Every table of the request that can carry a mark: tools, system and content blocks."""
    body = cast("_Table", value)
    system = body.get("system", [])
    yield from body.get("tools", [])
    yield from system if isinstance(system, list) else []
    for message in body["messages"]:
        yield from message["content"]


def _table(value: object, place: str) -> _Table:
    _must(isinstance(value, dict), f"{place}: Input should be an object")
    return cast("_Table", value)


def _must(holds: object, message: str) -> None:
    if not holds:
        raise _RuleError(message)


_CHECKS: Final[dict[str, Callable[[_Table, str], None]]] = {
    "text": _check_text,
    "image": _check_image,
    "tool_result": _check_tool_result,
    "tool_use": _check_tool_use,
    "thinking": _check_thinking_block,
    "redacted_thinking": _check_redacted,
}
