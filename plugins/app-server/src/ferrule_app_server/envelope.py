"""JSON-RPC as the protocol writes it: one JSON object per message, without `jsonrpc`.

`read` sorts what a client sends; it never raises, whatever the bytes are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, NamedTuple, NoReturn, cast

INVALID: Final = -32600
INTERNAL: Final = -32603
PARSE: Final = -32700
OVERLOADED: Final = -32001

_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")

_DEPTH: Final = 128
"""How deep a message may be nested, as in the reference: what is kept of it is written again."""

RequestId = str | int
Message = dict[str, object]


class Request(NamedTuple):
    """A request; `params` is None where it has none."""

    id: RequestId
    method: str
    params: object


class Note(NamedTuple):
    """A notification."""

    method: str


class Response(NamedTuple):
    """The answer to a request of ours; `result` is None where it is an error."""

    id: RequestId
    result: object
    error: object


class Refusal(NamedTuple):
    """What is no message, and why; `id` is None where it has none that could be repeated."""

    code: int
    message: str
    id: RequestId | None = None


Incoming = Request | Note | Response | Refusal


def read(message: bytes) -> Incoming:
    """Tell what a client sent."""
    try:
        value: object = json.loads(message.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return Refusal(PARSE, f"Parse error: {error}")
    if isinstance(value, list):
        return Refusal(INVALID, "Invalid request: batches are not supported; send one at a time")
    if not isinstance(value, dict):
        return Refusal(INVALID, "Invalid request: a message is a JSON object")
    if message.count(b"[") + message.count(b"{") > _DEPTH and _is_deep(cast("object", value)):
        return Refusal(PARSE, f"Parse error: nested more than {_DEPTH} levels deep")
    fields = cast("Mapping[str, object]", value)
    method = fields.get("method")
    if "method" in fields and not isinstance(method, str):
        return Refusal(INVALID, "Invalid request: `method` is not a string")
    if isinstance(method, str) and "id" not in fields:
        return Note(method)
    request_id = fields.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return Refusal(INVALID, "Invalid request: `id` is neither a string nor an integer")
    if _ESCAPED_SURROGATE.search(message) and not _is_text(fields):
        return _refuse_half_pair(request_id, is_request=isinstance(method, str))
    if isinstance(method, str):
        return Request(request_id, method, fields.get("params"))
    return Response(request_id, fields.get("result"), fields.get("error"))


def write(message: Mapping[str, object]) -> bytes:
    """Return a message as one line of JSON."""
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:  # a configuration file, or the arguments of a call, may say `nan`
        return write(cast("Mapping[str, object]", _without_nan(message)))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, as a broken file name may hold
        return json.dumps(message, separators=(",", ":")).encode()


def result(request_id: RequestId, value: Mapping[str, object]) -> Message:
    """Build a reply."""
    return {"id": request_id, "result": value}


def error(
    request_id: RequestId | None,
    code: int,
    message: str,
    data: Mapping[str, object] | None = None,
) -> Message:
    """Build a reply that says what is wrong."""
    fields: Message = {"code": code, "message": message}
    if data is not None:
        fields["data"] = data
    return {"error": fields, "id": request_id}


def _without_nan(value: object) -> object:
    """Put null where a number is none that JSON could write."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        return {key: _without_nan(each) for key, each in fields.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in cast("Sequence[object]", value)]
    return value


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(_DEPTH):
        nested = [each for each in level if isinstance(each, dict | list)]
        if not nested:
            return False
        level = []
        for each in nested:
            level += each.values() if isinstance(each, dict) else each
    return True


def _is_text(value: object) -> bool:
    """Whether every string could be written to a file; half a surrogate pair could not."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_half_pair(request_id: RequestId, *, is_request: bool) -> Refusal | Response:
    text = "a string holds half of a surrogate pair, which is no text"
    if not is_request:  # whoever waits for the answer must learn that there is none
        return Response(request_id, None, {"code": INVALID, "message": text})
    told = request_id if _is_text(request_id) else None
    return Refusal(INVALID, f"Invalid request: {text}", told)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
