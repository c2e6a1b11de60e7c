"""JSON Schema definitions of the protocol's types, under the names they are published by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_app_server.schemas.protocol import WireProtocol

Schema = dict[str, Any]
PREFIX: Final = "#/definitions/"
ANYTHING: Final[Schema] = {"type": "object", "additionalProperties": True}
REQUEST_ID: Final[Schema] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


class _Wanted(NamedTuple):
    """A definition that is published under a name of its own."""

    name: str
    type: Any
    left_out: tuple[str, ...] = ()


def published_name(method: str, kind: str) -> str:
    """Name the type of a method's part, such as `ConfigReadParams`."""
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(method)) + kind


def definitions_of(protocol: WireProtocol) -> dict[str, Schema]:
    """Return all definitions; what they refer to is among them."""
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: object) -> bool:
            """A title that repeats the name of its field says nothing."""
            return False

    wanted = list(_wanted(protocol))
    adapters = [
        (each.name, "validation", TypeAdapter(each.type))
        for each in wanted
        if each.type is not None
    ]
    made, merged = TypeAdapter.json_schemas(
        cast("Any", adapters),
        ref_template=f"{PREFIX}{{model}}",
        schema_generator=Generator,
    )
    shared = cast("dict[str, Schema]", merged.get("$defs", {}))
    found: dict[str, Schema] = {"RequestId": REQUEST_ID}
    for each in wanted:
        schema = made.get((cast("Any", each.name), "validation"), ANYTHING)
        own = _own(cast("Schema", schema), shared)
        found[each.name] = {**_without(own, each.left_out), "title": each.name}
    names = _short_names(shared, found)
    everything = {names[key]: schema for key, schema in shared.items()} | found
    renamed = {name: cast("Schema", _renamed(each, names)) for name, each in everything.items()}
    roots = [*(each.name for each in wanted), "RequestId"]
    return {name: renamed[name] for name in sorted(reachable(roots, renamed))}


def _wanted(protocol: WireProtocol) -> Iterator[_Wanted]:
    for method, call in protocol.calls.items():
        if call.params is not None:
            yield _Wanted(published_name(method, "Params"), call.params, tuple(call.left_out))
        yield _Wanted(published_name(method, "Response"), call.result)
    for method, params in protocol.notices.items():
        yield _Wanted(published_name(method, "Notification"), params)
    for method, question in protocol.questions.items():
        yield _Wanted(published_name(method, "Params"), question.params)
        yield _Wanted(published_name(method, "Response"), question.result)


def _own(schema: Schema, shared: Mapping[str, Schema]) -> Schema:
    """Return what a schema that only refers to a definition stands for."""
    reference = schema.get("$ref")
    return shared[reference.removeprefix(PREFIX)] if isinstance(reference, str) else schema


def _without(schema: Schema, fields: tuple[str, ...]) -> Schema:
    if not fields:
        return schema
    kept = {key: each for key, each in schema["properties"].items() if key not in fields}
    return {**schema, "properties": kept}


def _short_names(shared: Mapping[str, Schema], taken: Mapping[str, object]) -> dict[str, str]:
    """Name definitions by their types; of namesakes the module is named too."""
    names: dict[str, str] = {}
    used = set(taken)
    for key in sorted(shared, key=lambda key: "ferrule_hookspecs" not in key):
        words = key.split("__")
        name = words[-1]
        while name in used and len(words) > 1:
            words.pop(-2 if len(words) > 2 else 0)
            name = published_name(" ".join(words[-2:]), "")
        number = 2
        while name in used:
            name = f"{words[-1]}{number}"
            number += 1
        used.add(name)
        names[key] = name
    return names


def _renamed(value: object, names: Mapping[str, str]) -> object:
    """Put new names into references, and leave out what only other readers understand."""
    if is_schema(value):
        return {
            key: _renamed_reference(str(each), names) if key == "$ref" else _renamed(each, names)
            for key, each in value.items()
            if not (key == "discriminator" and "propertyName" in each)
        }
    if isinstance(value, list):
        return [_renamed(each, names) for each in cast("list[object]", value)]
    return value


def _renamed_reference(reference: str, names: Mapping[str, str]) -> str:
    name = reference.removeprefix(PREFIX)
    return PREFIX + names.get(name, name)


def reachable(roots: list[str], definitions: Mapping[str, Schema]) -> set[str]:
    """Name the definitions that some of them need, themselves included."""
    pending, seen = list(roots), set[str]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += references(definitions[name])
    return seen


def references(value: object) -> Iterator[str]:
    """Name every definition that a schema refers to."""
    if is_schema(value):
        for key, each in value.items():
            if key == "$ref":
                yield str(each).removeprefix(PREFIX)
            else:
                yield from references(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from references(each)


def is_schema(value: object) -> TypeGuard[Schema]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)
