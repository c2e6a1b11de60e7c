"""Checks the parameters of methods, and words what is wrong as clients know it.

Adapters are made when a type is first needed: pydantic takes longer to import than to run.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

_EXPECTED: Final = {
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "list_type": "a sequence",
    "tuple_type": "a sequence",
    "dict_type": "a map",
    "mapping_type": "a map",
    "greater_than_equal": "one that is not negative",
}
_QUOTED: Final = re.compile(r"'([^']*)'")
_CLEAR: Final = ("literal_error", "union_tag_invalid", "missing", "union_tag_not_found")
"""Kinds of error that say more than that a type is wrong; of a union's errors these are told."""


def validated(type_: type, params: object) -> dict[str, object]:
    """Return the parameters that a type names, unknown ones left out.

    Raises:
        RpcError: They do not fit.
    """
    from pydantic import ValidationError

    if params is None:
        raise RpcError("Invalid request: missing field `params`")
    try:
        return _adapter(type_).validate_python(params, strict=True)
    except ValidationError as error:
        raise RpcError(f"Invalid request: {_in_words(error.errors(include_url=False))}") from None


@cache
def _adapter(type_: Any) -> TypeAdapter[dict[str, object]]:  # noqa: ANN401 -- a TypedDict
    from pydantic import TypeAdapter

    return TypeAdapter[dict[str, object]](type_)


def _in_words(errors: Sequence[ErrorDetails]) -> str:
    """Word the error that says most: of the first place, the clearest kind."""
    first = errors[0]["loc"]
    same = [error for error in errors if error["loc"][: len(first)] == first[:1]] or errors
    error = next((each for each in same if each["type"] in _CLEAR), errors[0])
    kind = error["type"]
    context = cast("Mapping[str, Any]", error.get("ctx", {}))
    if kind == "missing":
        return f"missing field `{error['loc'][-1]}`"
    if kind == "union_tag_not_found":
        return f"missing field `{str(context.get('discriminator', '')).strip(chr(39))}`"
    if kind == "union_tag_invalid":
        return _unknown_variant(context.get("tag"), str(context.get("expected_tags")))
    if kind == "literal_error" and isinstance(error["input"], str):
        return _unknown_variant(error["input"], str(context.get("expected")))
    expected = _EXPECTED.get(kind)
    if expected is None:
        expected = "a string" if kind == "literal_error" else error["msg"]
    return f"invalid type: {_described(error['input'])}, expected {expected}"


def _unknown_variant(value: object, expected: str) -> str:
    names = [f"`{name}`" for name in _QUOTED.findall(expected)]
    if len(names) > 2:
        return f"unknown variant `{value}`, expected one of {', '.join(names)}"
    return f"unknown variant `{value}`, expected {' or '.join(names)}"


def _described(value: object) -> str:
    match value:
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            return f"integer `{value}`"
        case float():
            return f"floating point `{value}`"
        case str():
            return f'string "{value[:80]}"'
        case None:
            return "null"
        case list():
            return "sequence"
        case _:
            return "map"
