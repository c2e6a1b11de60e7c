"""What is asked of the pydantic model by which a plugin declares its settings.

The probe's child process asks for the facts that are kept in the index; a session asks for the
values of a table. The model is the plugin's code: whatever it raises is a fault of the plugin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from ferrule.patience import steps
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidationError
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core.core_schema import ModelSchema

LIMIT_S: Final = 5.0
"""How long a model may take to look at one table."""


class SettingsModel(Protocol):
    """What is used of a pydantic model; the class itself, not an instance."""

    __name__: str

    def model_validate(self, obj: object) -> object:
        """Make an instance of a table."""
        ...

    def model_json_schema(
        self, *, schema_generator: type[GenerateJsonSchema] = ...
    ) -> dict[str, object]:
        """Describe the table."""
        ...


class Refusal(NamedTuple):
    """One thing a model says against a table.

    Attributes:
        path: Where in the table; empty for the table as a whole.
        text: What is wrong.
        is_missing: Whether a value is not there.
        is_unknown: Whether the key is one that the model forbids.
    """

    path: tuple[str, ...]
    text: str
    is_missing: bool = False
    is_unknown: bool = False


def read_refusals(told: object) -> tuple[Refusal, ...]:
    """Read refusals that were kept or sent as JSON."""
    rows = cast("list[tuple[list[str], str, bool, bool]]", told)
    return tuple(Refusal(tuple(path), text, *is_what) for path, text, *is_what in rows)


class RefusedSettingsError(Exception):
    """A model does not take a table."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        super().__init__("; ".join(refusal.text for refusal in refusals))
        self.refusals = refusals


def facts_of(model: SettingsModel) -> str:
    """Describe a model as JSON: schema, defaults, and what it says against an empty table.

    Defaults that JSON cannot carry, or that are not the same each time, are left to the model.
    """
    unset: tuple[Refusal, ...] = ()
    defaults: object = None
    try:
        defaults = None if _reads_elsewhere(model) else _lasting_defaults(model)
    except RefusedSettingsError as refused:
        unset = refused.refusals
    facts = {"schema": _schema_of(model), "defaults": defaults, "unset": unset}
    return json.dumps(facts)


def values_of(model: SettingsModel, table: Mapping[str, object]) -> dict[str, object]:
    """Return what a plugin is given for a table: checked, with defaults, secrets in the clear.

    Raises:
        RefusedSettingsError: The model does not take it.
        Exception: Whatever else the model raises.
    """
    from pydantic import ValidationError

    try:
        made = cast("Any", model.model_validate(dict(table)))
    except ValidationError as error:
        raise RefusedSettingsError(tuple(_refusals(error))) from None
    return cast("dict[str, object]", _in_the_clear(made.model_dump()))


def values_in_time(model: SettingsModel, table: Mapping[str, object]) -> dict[str, object]:
    """Do what `values_of` does, in a thread that is left behind at the deadline.

    Raises:
        RefusedSettingsError: The model does not take it.
        PluginError: The model failed, or gave no answer.
    """
    from threading import Thread

    answers: list[dict[str, object]] = []
    faults: list[BaseException] = []

    def look() -> None:
        try:
            answers.append(values_of(model, table))
        except BaseException as error:  # noqa: BLE001 -- a validator may raise anything
            faults.append(error)

    thread = Thread(target=look, name="settings", daemon=True)
    thread.start()
    for step_s in steps(LIMIT_S):
        thread.join(step_s)
        if not thread.is_alive():
            break
    if answers:
        return answers[0]
    if not faults:
        raise PluginError(f"the check of its settings did not end within {LIMIT_S:g} s")
    if isinstance(faults[0], RefusedSettingsError):
        raise faults[0]
    cause = str(faults[0]).strip().partition("\n")[0]
    raise PluginError(f"the check of its settings raised {type(faults[0]).__name__}: {cause}")


def _schema_of(model: SettingsModel) -> dict[str, object]:
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

    class Schema(GenerateJsonSchema):
        """Says of every model, wherever it stands, where keys count that it does not name."""

        def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
            made = super().model_schema(schema)
            if _takes_other_names(cast("SettingsModel", schema["cls"])):
                made["additionalProperties"] = True
            return made

    return model.model_json_schema(schema_generator=Schema)


def _takes_other_names(model: SettingsModel) -> bool:
    """Tell whether keys count that the schema does not name, as it knows one name of a field."""
    options = cast("Mapping[str, object]", getattr(model, "model_config", {}))
    fields = cast("Mapping[str, object]", getattr(model, "model_fields", {}))
    aliases = [getattr(field, "validation_alias", None) for field in fields.values()]
    return bool(
        options.get("populate_by_name")
        or options.get("validate_by_name")
        or any(alias is not None and not isinstance(alias, str) for alias in aliases)
    )


def _reads_elsewhere(model: SettingsModel) -> bool:
    """Tell whether its defaults depend on the process, as those of `pydantic-settings` do."""
    return hasattr(model, "settings_customise_sources")


def _lasting_defaults(model: SettingsModel) -> dict[str, object] | None:
    defaults = values_of(model, {})
    try:
        is_plain = json.loads(json.dumps(defaults)) == defaults
    except (TypeError, ValueError):
        return None
    if not is_plain or _is_computed(model.model_validate({})):
        return None
    return defaults if values_of(model, {}) == defaults else None


def _is_computed(made: object) -> bool:
    """Tell whether functions make the defaults, which may read the environment or a file."""
    fields = cast("Mapping[str, object]", getattr(type(made), "model_fields", {}))
    factories = [getattr(field, "default_factory", None) for field in fields.values()]
    is_own = any(each is not None and not isinstance(each, type) for each in factories)
    return is_own or any(_is_computed(getattr(made, name)) for name in fields)


def _refusals(error: ValidationError) -> Iterator[Refusal]:
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        text = str(each["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
        yield Refusal(
            tuple(map(str, each["loc"])),
            text[:1].lower() + text[1:],
            each["type"] == "missing",
            each["type"] == "extra_forbidden",
        )


def _in_the_clear(value: object) -> object:
    reveal = getattr(value, "get_secret_value", None)
    if callable(reveal):
        return reveal()
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {key: _in_the_clear(each) for key, each in items}
    if isinstance(value, list):
        return [_in_the_clear(each) for each in cast("list[object]", value)]
    if type(value) is tuple:
        return tuple(map(_in_the_clear, cast("tuple[object, ...]", value)))
    return value
