"""The protocol's types for TypeScript, one file each, made from their JSON Schema."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_app_server.schemas.definitions import (
    PREFIX,
    Schema,
    definitions_of,
    is_schema,
    references,
)
from ferrule_app_server.schemas.documents import union_schemas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule_app_server.schemas.protocol import WireProtocol

_HEAD: Final = "// Made by `ferrule app-server generate-ts`; changes are lost.\n"
_PLAIN: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]*")


def modules(protocol: WireProtocol) -> dict[str, str]:
    """Return the files' texts by relative path."""
    types = definitions_of(protocol)
    unions = union_schemas(protocol)
    files = {f"v2/{name}.ts": _module(name, schema, "./") for name, schema in types.items()}
    files |= {f"{name}.ts": _module(name, schema, "./v2/") for name, schema in unions.items()}
    exports = [f'export type {{ {name} }} from "./v2/{name}";' for name in sorted(types)]
    exports += [f'export type {{ {name} }} from "./{name}";' for name in sorted(unions)]
    files["index.ts"] = _HEAD + "\n" + "\n".join(exports) + "\n"
    return files


def _module(name: str, schema: Schema, place: str) -> str:
    needed = sorted({*references(schema)} - {name})
    imports = "".join(f'import type {{ {each} }} from "{place}{each}";\n' for each in needed)
    return f"{_HEAD}\n{imports}{_comment(schema)}export type {name} = {_type(schema)};\n"


def _comment(schema: Mapping[str, Any]) -> str:
    text = schema.get("description")
    if not isinstance(text, str):
        return ""
    lines = text.replace("*/", "* /").splitlines()
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _type(schema: object) -> str:
    """Write the type of what fits a schema."""
    if not is_schema(schema):
        return "unknown"
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(PREFIX)
    if "const" in schema or "enum" in schema:
        return _union(json.dumps(value) for value in schema.get("enum") or [schema["const"]])
    parts = schema.get("anyOf") or schema.get("oneOf")
    if parts is not None:
        return _union(map(_type, parts))
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_type({**schema, "type": each}) for each in cast("list[str]", kind))
    if kind == "array":
        return f"Array<{_type(schema.get('items'))}>"
    return _object(schema) if kind == "object" else _PLAIN.get(str(kind), "unknown")


def _union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types)) or "never"


def _object(schema: Schema) -> str:
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    if not properties:
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values) if is_schema(values) else 'unknown'}>"
    required = schema.get("required", ())
    fields = [
        f"{_field(name)}{'' if name in required else '?'}: {_type(each)};"
        for name, each in properties.items()
    ]
    return "{\n  " + "\n  ".join(fields) + "\n}"


def _field(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)
