"""JSON-RPC as the protocol writes it: one JSON object per message, without `jsonrpc`.

`read` sorts what a client sends; it never raises, whatever the bytes are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

INVALID: Final = -32600
INTERNAL: Final = -32603
PARSE: Final = -32700
OVERLOADED: Final = -32001

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
    """What is no message, and why."""

    code: int
    message: str


Incoming = Request | Note | Response | Refusal


def read(message: bytes) -> Incoming:
    """Tell what a client sent."""
    try:
        value: object = json.loads(message, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return Refusal(PARSE, f"Parse error: {error}")
    if isinstance(value, list):
        return Refusal(INVALID, "Invalid request: batches are not supported; send one at a time")
    if not isinstance(value, dict):
        return Refusal(INVALID, "Invalid request: a message is a JSON object")
    fields = cast("Mapping[str, object]", value)
    method = fields.get("method")
    if "method" in fields and not isinstance(method, str):
        return Refusal(INVALID, "Invalid request: `method` is not a string")
    if isinstance(method, str) and "id" not in fields:
        return Note(method)
    request_id = fields.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return Refusal(INVALID, "Invalid request: `id` is neither a string nor an integer")
    if isinstance(method, str):
        return Request(request_id, method, fields.get("params"))
    return Response(request_id, fields.get("result"), fields.get("error"))


def write(message: Mapping[str, object]) -> bytes:
    """Return a message as one line of JSON."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
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


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
