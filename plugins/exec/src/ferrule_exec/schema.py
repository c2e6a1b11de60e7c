"""The JSON Schema the last message must follow (`--output-schema`)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_exec.errors import ExecError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MAX_PROBLEMS: Final = 5


class OutputSchemaError(ExecError):
    """The schema file cannot be used."""


class OutputSchema:
    """A schema that was read and is valid itself."""

    def __init__(self, schema: dict[str, object]) -> None:
        self.schema = schema

    @classmethod
    def read(cls, path: str) -> OutputSchema:
        """Read a schema file.

        Raises:
            OutputSchemaError: It cannot be read, is not JSON, or is not a JSON Schema.
        """
        try:
            with open(path, encoding="utf-8") as file:
                value: object = json.load(file)
        except OSError as error:
            raise OutputSchemaError(
                f"Failed to read output schema file {path}: {error.strerror}"
            ) from error
        except ValueError as error:
            raise OutputSchemaError(
                f"Output schema file {path} is not valid JSON: {error}"
            ) from error
        if not isinstance(value, dict):
            raise OutputSchemaError(f"Output schema file {path} must hold a JSON object")
        return cls(cast("dict[str, object]", value))._checked(path)

    def problem(self, text: str | None) -> str | None:
        """Tell what is wrong with an answer; None if it follows the schema."""
        if text is None:
            return "there was no message"
        try:
            answer = json.loads(text)
        except ValueError as error:
            return f"the message is not JSON: {error}"
        from referencing.exceptions import Unresolvable

        try:
            errors = list(self._validator().iter_errors(answer))
        except Unresolvable as error:
            return f"the schema refers to something outside of it: {error}"
        lines = [f"{error.json_path}: {error.message}" for error in errors[:_MAX_PROBLEMS]]
        return "; ".join(lines) or None

    def _checked(self, path: str) -> OutputSchema:
        try:
            from jsonschema.exceptions import SchemaError
        except ModuleNotFoundError as error:
            raise OutputSchemaError(
                "--output-schema needs jsonschema, which a lean installation has not;"
                " install 'ferrule-exec[schema]'"
            ) from error

        validator = self._validator()
        try:
            type(validator).check_schema(self.schema)
        except SchemaError as error:
            raise OutputSchemaError(
                f"Output schema file {path} is not a valid JSON Schema: "
                f"{error.json_path}: {error.message}"
            ) from error
        return self

    def _validator(self) -> Validator:
        # An empty registry: a reference never makes the validator fetch anything.
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry

        return validator_for(self.schema, Draft202012Validator)(self.schema, registry=Registry())


def correction(problem: str) -> str:
    """Return what the model is asked when its answer does not follow the schema."""
    return (
        f"Your last message does not follow the required JSON Schema: {problem}\n"
        "Answer again with the corrected JSON value only: no prose around it, no code fence."
    )
