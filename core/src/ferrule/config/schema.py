"""The JSON Schema of the configuration file, made from its definitions."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any, cast

from typing_extensions import is_typeddict

_ID = "https://json-schema.org/draft/2020-12/schema"


def config_schema() -> dict[str, object]:
    """Build the JSON Schema of `config.toml`; the keys' help lines become descriptions."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pydantic import ConfigDict, TypeAdapter

    from ferrule.config import model, settings

    for module in (settings, model):
        for definition in _definitions(module):
            extra = "allow" if definition in settings.OPEN_TABLES else "forbid"
            options = ConfigDict(extra=extra, use_attribute_docstrings=True)
            cast("Any", definition).__pydantic_config__ = options
    schema = TypeAdapter(model.ConfigFile).json_schema()
    return {"$schema": _ID, **schema, "title": "Ferrule configuration"}


def _definitions(module: ModuleType) -> list[type]:
    return [
        value
        for value in vars(module).values()
        if is_typeddict(value) and value.__module__ == module.__name__
    ]
