"""Runs a hook that is a tool of an MCP server, called as every tool of the session is called."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Final, cast

from ferrule_hooks.answers import AnswerError, Raw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload
    from ferrule_hooks.surroundings import Surroundings
    from ferrule_hookspecs.tools import ToolResult

_PLACE: Final = re.compile(r"\$\{([\w.]+)\}")


async def run_tool(handler: Handler, payload: Payload, around: Surroundings) -> Raw:
    """Call the tool with the hook's input, values of the event filled in.

    Raises:
        AnswerError: There is no such tool, or the call was refused or failed.
    """
    from ferrule_hookspecs.errors import ToolArgumentError

    if around.services is None:
        raise AnswerError("needs a session, whose tools it calls")
    call_id = f"hook_{uuid.uuid4().hex}"
    arguments = cast("Mapping[str, object]", _filled(handler.arguments, payload))
    around.own_calls.add(call_id)
    try:
        result = await around.services.call_tool(
            handler.target, arguments, call_id=call_id, turn_id=str(payload["turn_id"])
        )
    except ToolArgumentError as error:
        raise AnswerError(
            f"cannot be called: {error}; is its MCP server configured, and did it start?"
        ) from None
    finally:
        around.own_calls.discard(call_id)
    text = _text(result)
    if not result.success:
        raise AnswerError(f"failed: {text}")
    return Raw(0, text)


def _text(result: ToolResult) -> str:
    """What the tool itself said, without what is put around it for a model."""
    item = result.item
    given: object = result.output
    if item is not None and item["type"] == "mcpToolCall":
        said = cast("Mapping[str, object]", item.get("result") or {})
        given = said.get("content") or given
    if isinstance(given, str):
        return given
    parts = cast("list[Mapping[str, object]]", given)
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


def _filled(value: object, payload: Payload) -> object:
    """Put values of the event where `${tool_input.command}` and the like stand."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return {key: _filled(each, payload) for key, each in table.items()}
    if isinstance(value, list):
        return [_filled(each, payload) for each in cast("list[object]", value)]
    if not isinstance(value, str):
        return value
    if whole := _PLACE.fullmatch(value):
        return _looked_up(payload, whole[1])
    return _PLACE.sub(lambda found: _words(_looked_up(payload, found[1])), value)


def _looked_up(payload: Payload, path: str) -> object:
    """Return a value of the event; an empty text where there is none."""
    found: object = payload
    for part in path.split("."):
        table = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        found = table.get(part, "")
    return found


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
