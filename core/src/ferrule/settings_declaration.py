"""What is known of a plugin's settings without importing it: its schema, as the probe found it.

Read by everything that shows, checks or completes the configuration.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.config.check import Problem, suggestion
from ferrule.config.tables import (
    SETTINGS_PATH,
    KeyPath,
    Table,
    is_list,
    is_table,
    join_key,
    nest,
    table_at,
)
from ferrule.settings_model import read_refusals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule.entry import Entry
    from ferrule.settings_model import Refusal

_DEPTH: Final = 16


class Declaration(NamedTuple):
    """A plugin's table of settings.

    Attributes:
        entry: The entry point that declares it.
        schema: Its JSON Schema.
        defaults: What holds without a table; None where only the model knows.
        unset: What the model says against an empty table.
    """

    entry: Entry
    schema: Table
    defaults: Table | None
    unset: tuple[Refusal, ...]

    @property
    def path(self) -> KeyPath:
        """Where the table stands in the configuration."""
        return (*SETTINGS_PATH, self.entry.name)

    @property
    def owner(self) -> str:
        """The distribution with its version."""
        return f"{self.entry.distribution} {self.entry.version}"

    def field(self, keys: KeyPath) -> Table | None:
        """Return what the schema says about a key within the table; None where it has no such."""
        found: Table | None = self.schema
        for key in keys:
            found = self._inner(found, key) if found is not None else None
        return found

    def is_secret(self, keys: KeyPath) -> bool:
        """Tell whether a key, or a table around it, holds a secret."""
        fields = (self.field(keys[:size]) for size in range(1, len(keys) + 1))
        return any(field is not None and self._is_marked_secret(field) for field in fields)

    def hides(self, keys: KeyPath) -> bool:
        """Tell whether a value that is no table must not be shown.

        So it is with a secret, with a list that holds one, and with what the schema does not know,
        such as a secret under its former name, or under another one that counts as well.
        """
        field = self.field(keys)
        return field is None or self.is_secret(keys) or self._holds_secret(field)

    def project_keys(self) -> Iterator[KeyPath]:
        """List the keys that a trusted project's file may set."""
        for name, field in table_at(self.schema, "properties").items():
            if is_table(field) and field.get("project") is True:
                yield (*self.path, name)

    def unknown(self, table: Mapping[str, object]) -> Iterator[Problem]:
        """List the keys of a table, and of tables in it, that the schema does not have.

        Those that the model itself forbids are not marked as unknown: they are errors.
        """
        return self._unknown(self.schema, table, self.path)

    def unknown_at(self, path: KeyPath) -> list[Problem]:
        """Tell whether the schema has no such key; `path` is that in the configuration."""
        keys = path[len(self.path) :]
        return list(self.unknown(nest(keys, None))) if keys else []

    def _unknown(
        self, schema: Table, table: Mapping[str, object], path: KeyPath
    ) -> Iterator[Problem]:
        closed = [option for option in self.options(schema) if table_at(option, "properties")]
        if len(closed) != 1 or closed[0].get("additionalProperties", False) is not False:
            return
        known = table_at(closed[0], "properties")
        is_ignored = "additionalProperties" not in closed[0]
        for key, value in table.items():
            here = (*path, key)
            if key not in known:
                text = f"unknown configuration key `{join_key(here)}`"
                yield Problem(here, text, is_ignored, suggestion(key, known, path))
            elif is_table(value):
                yield from self._unknown(table_at(known, key), value, here)

    def options(self, schema: Table, depth: int = 0) -> Iterator[Table]:
        """Follow references, and the options of what may be one thing or another."""
        if depth > _DEPTH:
            return
        reference = schema.get("$ref")
        if isinstance(reference, str):
            name = reference.rpartition("/")[2]
            yield from self.options(table_at(self.schema, "$defs", name), depth + 1)
        for word in ("anyOf", "oneOf", "allOf"):
            options = schema.get(word)
            for option in options if is_list(options) else ():
                if is_table(option):
                    yield from self.options(option, depth + 1)
        if "properties" in schema or "type" in schema or "format" in schema:
            yield schema

    def _inner(self, schema: Table, key: str) -> Table | None:
        options = list(self.options(schema))
        if not options:  # anything is taken, and so is what lies within
            return {}
        found = [each for option in options for each in _within(option, key)]
        secret = (each for each in found if self._is_marked_secret(each))
        return next(secret, found[0] if found else None)

    def _is_marked_secret(self, field: Table) -> bool:
        return any(map(_is_marked, (field, *self.options(field))))

    def _holds_secret(self, field: Table) -> bool:
        waiting: list[object] = [field]
        followed: set[str] = set()
        while waiting:
            each = waiting.pop()
            if is_list(each):
                waiting += each
            if not is_table(each):
                continue
            if _is_marked(each):
                return True
            waiting += each.values()
            reference = each.get("$ref")
            if isinstance(reference, str) and reference not in followed:
                followed.add(reference)
                waiting.append(table_at(self.schema, "$defs", reference.rpartition("/")[2]))
        return False


def declaration_of(entry: Entry) -> Declaration | None:
    """Read what the probe found; None before the probe, and for what is broken."""
    facts = "" if entry.probe is None or not entry.probe.ok else entry.probe.settings
    if not facts:
        return None
    table = cast("Table", json.loads(facts))
    schema = cast("Table", table["schema"])
    reference = schema.get("$ref")
    if isinstance(reference, str):  # as of a model that holds itself
        schema = {**schema, **table_at(schema, "$defs", reference.rpartition("/")[2])}
    defaults = table["defaults"]
    return Declaration(
        entry,
        schema,
        defaults if is_table(defaults) else None,
        read_refusals(table["unset"]),
    )


def _within(schema: Table, key: str) -> Iterator[Table]:
    """List what a schema may say about one key, or one place of a list."""
    known = table_at(schema, "properties")
    inner: list[object] = [known.get(key)]
    if inner == [None]:
        more = schema.get("additionalProperties")
        inner = [*table_at(schema, "patternProperties").values(), more]
        inner += [{}] if more is True and not known else []
        inner += [schema.get("items")] if key.isdigit() else []
    yield from filter(is_table, inner)


def _is_marked(field: Table) -> bool:
    return field.get("writeOnly") is True or field.get("format") == "password"
