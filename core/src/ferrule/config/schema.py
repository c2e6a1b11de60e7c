"""The JSON Schema of the configuration file, made from its definitions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import Any, cast

from typing_extensions import is_typeddict

from ferrule.config.tables import Table, is_list, is_table, place, table_at

_ID = "https://json-schema.org/draft/2020-12/schema"


def config_schema(plugins: Mapping[str, Table] = MappingProxyType({})) -> dict[str, object]:
    """Build the JSON Schema of `config.toml`; the keys' help lines become descriptions.

    Args:
        plugins: The schemas of the plugins' tables, by name.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pydantic import ConfigDict, TypeAdapter

    from ferrule.config import model, settings

    for module in (settings, model):
        for definition in _definitions(module):
            extra = "allow" if definition in settings.OPEN_TABLES else "forbid"
            options = ConfigDict(extra=extra, use_attribute_docstrings=True)
            cast("Any", definition).__pydantic_config__ = options
    schema = TypeAdapter(model.ConfigFile).json_schema()
    _add_plugins(schema, plugins)
    return {"$schema": _ID, **schema, "title": "Ferrule configuration"}


def _add_plugins(schema: Table, plugins: Mapping[str, Table]) -> None:
    """Put the schemas of plugins into the table `plugins.settings`, in place."""
    tables = table_at(schema, "$defs", "PluginSettings", "properties", "settings")
    for name, own in plugins.items():
        prefix = f"plugins.settings.{name}."
        moved = cast("Table", _with_references(own, prefix))
        for key, definition in table_at(moved, "$defs").items():
            place(schema, ("$defs", prefix + key), definition)
        place(tables, ("properties", name), {k: v for k, v in moved.items() if k != "$defs"})


def _with_references(value: object, prefix: str) -> object:
    """Let references of a schema lead to where its definitions are moved to."""
    if is_table(value):
        return {
            key: each.replace("#/$defs/", f"#/$defs/{prefix}", 1)
            if key == "$ref" and isinstance(each, str)
            else _with_references(each, prefix)
            for key, each in value.items()
        }
    return [_with_references(each, prefix) for each in value] if is_list(value) else value


def _definitions(module: ModuleType) -> list[type]:
    return [
        value
        for value in vars(module).values()
        if is_typeddict(value) and value.__module__ == module.__name__
    ]
