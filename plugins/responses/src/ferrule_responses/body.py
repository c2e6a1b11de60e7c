"""The request body, laid out so that consecutive requests share the longest prefix of bytes.

Everything that stays the same in a thread stands before `input`, which only grows at its end;
what may change from turn to turn stands after it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.tools import FunctionSchema
from ferrule_responses.freeform import function_definition, knows_only_functions
from ferrule_responses.history import input_items, reading_of
from ferrule_responses.special import special_definition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.tools import ToolSchema


_TIERS: Final = {"fast": "priority"}


def encode_request(request: ModelRequest) -> bytes:
    """Serialise a request; equal requests give equal bytes."""
    return encode(request_fields(request))


def encode(fields: Mapping[str, object]) -> bytes:
    """Serialise the fields of a body."""
    encoded = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    # A command's output may hold lone surrogates, which no UTF-8 text can carry.
    return encoded.encode("utf-8", "replace")


def request_fields(request: ModelRequest) -> dict[str, object]:
    """Lay out the body of a request."""
    only_functions = knows_only_functions(request)
    body: dict[str, object] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": request.thread_id,
        "tool_choice": "auto",
        "parallel_tool_calls": request.parallel_tool_calls,
        "tools": [
            *(_tool(schema, only_functions=only_functions) for schema in request.tools),
            *(special_definition(tool, request.model_info) for tool in request.special_tools),
        ],
        "input": input_items(request.input, reading_of(request)),
    }
    if reasoning := _reasoning(request):
        body["reasoning"] = reasoning
    if text := _text(request):
        body["text"] = text
    if request.service_tier not in (None, "default"):
        body["service_tier"] = _TIERS.get(request.service_tier, request.service_tier)
    body["client_metadata"] = {
        "thread_id": request.thread_id,
        "turn_id": request.turn_id,
        **request.metadata,
    }
    return body


def _tool(schema: ToolSchema, *, only_functions: bool) -> dict[str, object]:
    if isinstance(schema, FunctionSchema):
        return {
            "type": "function",
            "name": schema.name,
            "description": schema.description,
            "strict": False,
            "parameters": dict(schema.parameters),
        }
    if only_functions:
        return function_definition(schema)
    return {
        "type": "custom",
        "name": schema.name,
        "description": schema.description,
        "format": {
            "type": "grammar",
            "syntax": schema.syntax,
            "definition": schema.definition,
        },
    }


def _reasoning(request: ModelRequest) -> dict[str, str]:
    reasoning: dict[str, str] = {}
    if request.reasoning_effort is not None:
        reasoning["effort"] = request.reasoning_effort
    if request.reasoning_summary not in (None, "none"):
        reasoning["summary"] = request.reasoning_summary
    return reasoning


def _text(request: ModelRequest) -> dict[str, object]:
    text: dict[str, object] = {}
    if request.verbosity is not None:
        text["verbosity"] = request.verbosity
    if request.output_schema is not None:
        text["format"] = {
            "type": "json_schema",
            "strict": True,
            "schema": dict(request.output_schema),
            "name": "codex_output_schema",
        }
    return text
