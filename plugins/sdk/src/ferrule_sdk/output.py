"""Structured output: from a type to the JSON Schema the model is held to, and back to a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from ferrule_sdk.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
_DROPPED: Final = ("default", "discriminator")
"""What pydantic adds and strict schemas may not hold."""


class Output(Generic[T]):
    """What is asked of a turn's last message.

    Attributes:
        schema: The JSON Schema; None where any text will do.
    """

    def __init__(self, wanted: type[T] | Mapping[str, object] | None) -> None:
        """Take a type pydantic knows, a JSON Schema, or nothing."""
        self.schema: Mapping[str, object] | None = None
        self._wanted = wanted
        if wanted is None:
            return
        if isinstance(wanted, type) or not hasattr(wanted, "keys"):
            from pydantic import TypeAdapter

            schema = TypeAdapter(cast("type[T]", wanted)).json_schema(mode="validation")
            self.schema = cast("dict[str, object]", strict(schema))
        else:
            self.schema = cast("Mapping[str, object]", wanted)

    def parse(self, text: str) -> T:
        """Make a value of an answer.

        Raises:
            OutputError: The answer does not fit.
        """
        import json

        if self._wanted is None:
            return cast("T", None)
        try:
            if isinstance(self._wanted, type) or not hasattr(self._wanted, "keys"):
                from pydantic import TypeAdapter

                return TypeAdapter(cast("type[T]", self._wanted)).validate_json(text)
            return cast("T", json.loads(text))
        except ValueError as error:  # pydantic's ValidationError is one
            reason = str(error).splitlines()
            message = f"the answer does not fit the schema: {' '.join(reason[:4])}"
            raise OutputError(message, text) from error


def strict(schema: object) -> object:
    """Make of a schema by pydantic one that providers take in their strict mode.

    There every property is required, nothing else is allowed, and no defaults are given.
    """
    if isinstance(schema, list):
        return [strict(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    table = cast("dict[str, object]", schema)
    kept = {key: value for key, value in table.items() if key not in _DROPPED}
    properties = kept.get("properties")
    result = {
        key: _strict_properties(value) if key in {"properties", "$defs"} else strict(value)
        for key, value in kept.items()
    }
    if "oneOf" in result:
        result["anyOf"] = result.pop("oneOf")
    if isinstance(properties, dict):
        result["required"] = list(cast("dict[str, object]", properties))
        result["additionalProperties"] = False
    return result


def _strict_properties(value: object) -> object:
    """Properties may be called like the keywords that are dropped."""
    if not isinstance(value, dict):
        return value
    return {name: strict(each) for name, each in cast("dict[str, object]", value).items()}
