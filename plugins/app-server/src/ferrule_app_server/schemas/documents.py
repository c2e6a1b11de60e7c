"""The published files of JSON Schema, laid out as clients that generate code from them expect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ferrule_app_server.schemas.definitions import (
    PREFIX,
    REQUEST_ID,
    Schema,
    definitions_of,
    published_name,
    reachable,
    references,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule_app_server.schemas.protocol import WireProtocol

_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
_WHOLE: Final = ("codex_app_server_protocol.schemas", "codex_app_server_protocol.v2.schemas")
"""Files with everything; the names are those that generators look for."""
_VERSION_1: Final = "Initialize"


def documents(protocol: WireProtocol) -> dict[str, str]:
    """Return the files' texts by relative path."""
    definitions = definitions_of(protocol)
    unions = union_schemas(protocol)
    files: dict[str, Schema] = {}
    for name, schema in unions.items():
        files[name] = _document(name, schema, definitions)
    for name, schema in _envelopes().items():
        files[name] = {"$schema": _DIALECT, "title": name, **schema}
    for name in _public_names(protocol):
        folder = "v1" if name.startswith(_VERSION_1) else "v2"
        files[f"{folder}/{name}"] = _document(name, definitions[name], definitions)
    everything = {**definitions, **unions}
    for name in _WHOLE:
        files[name] = {
            "$schema": _DIALECT,
            "title": "CodexAppServerProtocol",
            "type": "object",
            "definitions": everything,
        }
    return {f"{path}.json": json.dumps(file, indent=2) + "\n" for path, file in files.items()}


def union_schemas(protocol: WireProtocol) -> dict[str, Schema]:
    """Return the schemas of whole messages: what comes, what goes, what is asked."""
    calls = [
        _message(name, published_name(name, "Params") if call.params is not None else None)
        for name, call in protocol.calls.items()
    ]
    questions = [_message(name, published_name(name, "Params")) for name in protocol.questions]
    notices = [
        _message(name, published_name(name, "Notification"), is_request=False)
        for name in protocol.notices
    ]
    initialized = _message("initialized", None, is_request=False)
    return {
        "ClientRequest": {"oneOf": calls},
        "ServerRequest": {"oneOf": questions},
        "ServerNotification": {"oneOf": notices},
        "ClientNotification": {"oneOf": [initialized]},
    }


def _message(method: str, params: str | None, *, is_request: bool = True) -> Schema:
    properties: Schema = {"method": {"type": "string", "enum": [method]}}
    required = ["method"]
    if is_request:
        properties["id"] = {"$ref": f"{PREFIX}RequestId"}
        required.append("id")
    if params is not None:
        properties["params"] = {"$ref": PREFIX + params}
        required.append("params")
    return {"type": "object", "properties": properties, "required": required}


def _public_names(protocol: WireProtocol) -> Iterable[str]:
    for exchanges in (protocol.calls, protocol.questions):
        for name, exchange in exchanges.items():
            if exchange.params is not None:
                yield published_name(name, "Params")
            yield published_name(name, "Response")
    for name in protocol.notices:
        yield published_name(name, "Notification")


def _document(name: str, schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Make a file that stands alone."""
    needed = reachable(list(references(schema)), definitions)
    document: Schema = {"$schema": _DIALECT, **schema, "title": name}
    if needed:
        document["definitions"] = {each: definitions[each] for each in sorted(needed)}
    return document


def _envelopes() -> dict[str, Schema]:
    def envelope(required: list[str], **properties: Schema) -> Schema:
        return {"type": "object", "properties": properties, "required": required}

    error = envelope(
        ["code", "message"], code={"type": "integer"}, message={"type": "string"}, data={}
    )
    method: Schema = {"type": "string"}
    request = envelope(["id", "method"], id=REQUEST_ID, method=method, params={})
    notification = envelope(["method"], method=method, params={})
    response = envelope(["id", "result"], id=REQUEST_ID, result={})
    failure = envelope(["id", "error"], id=REQUEST_ID, error=error)
    return {
        "RequestId": REQUEST_ID,
        "JSONRPCErrorError": error,
        "JSONRPCRequest": request,
        "JSONRPCNotification": notification,
        "JSONRPCResponse": response,
        "JSONRPCError": failure,
        "JSONRPCMessage": {"anyOf": [request, notification, response, failure]},
    }
