"""Checks what a model gives to the tools, and turns a task into a user's input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ToolArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.items import UserInput

_FAILED: Final = "failed to parse function arguments"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "array": (list, tuple),
    "object": (dict,),
}


def checked(arguments: Mapping[str, object], schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the arguments that are given.

    Raises:
        ToolArgumentError: One is missing, unknown or of the wrong type.
    """
    known = cast("Mapping[str, Mapping[str, object]]", schema["properties"])
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in cast("Sequence[str]", schema.get("required", ())):
        if name not in given:
            raise ToolArgumentError(f"{_FAILED}: missing field `{name}`")
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            raise ToolArgumentError(f"{_FAILED}: unknown field `{name}`, expected one of {listed}")
        kind = str(known[name]["type"])
        if not isinstance(value, _TYPES[kind]) or (kind == "number" and isinstance(value, bool)):
            raise ToolArgumentError(f"{_FAILED}: `{name}` must be of type {kind}")
    return given


def task(arguments: Mapping[str, object]) -> list[UserInput]:
    """Return the input that a task is.

    Raises:
        ToolArgumentError: There is none, or it is given twice, or makes no sense.
    """
    message, items = arguments.get("message"), arguments.get("items")
    if message is not None and items:
        raise ToolArgumentError("give either `message` or `items`, not both")
    if items:
        return [_part(each) for each in cast("Sequence[object]", items)]
    text = str(message or "")
    if not text.strip():
        raise ToolArgumentError("give the task: `message` must not be empty")
    return [{"type": "text", "text": text}]


def _part(given: object) -> UserInput:
    if not hasattr(given, "get"):
        raise ToolArgumentError(f"{_FAILED}: every one of `items` must be an object")
    part = cast("Mapping[str, object]", given)
    kind = str(part.get("type") or "text")
    match kind:
        case "text":
            return {"type": "text", "text": _field(part, "text")}
        case "image":
            return {"type": "image", "url": _field(part, "image_url")}
        case "local_image":
            return {"type": "localImage", "path": _field(part, "path")}
        case "skill":
            return {"type": "skill", "name": _field(part, "name"), "path": _field(part, "path")}
        case "mention":
            return {"type": "mention", "name": _field(part, "name"), "path": _field(part, "path")}
        case _:
            raise ToolArgumentError(
                f"an item of type {kind!r} cannot be sent to an agent; use text, image,"
                " local_image, skill or mention"
            )


def _field(part: Mapping[str, object], name: str) -> str:
    value = part.get(name)
    if not isinstance(value, str) or not value:
        raise ToolArgumentError(f"an item of type {part.get('type')!r} needs `{name}`")
    return value
