"""`-c key=value` texts and the values of dedicated flags, as layers."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from typing import TYPE_CHECKING

from ferrule.config.layers import Layer, layer_with_paths
from ferrule.config.provenance import key_path
from ferrule.config.tables import Table, nest, place, split_key
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def override_layers(texts: Sequence[str], base: Path) -> list[Layer]:
    """Turn `-c` texts into layers, one each, so that every message can name its text."""
    return [layer_with_paths(_override(text), base) for text in texts]


def _override(text: str) -> Layer:
    try:
        path, value = split_key(text)
    except ValueError as error:
        raise ConfigError(_bad_override(text)) from error
    if value is None:
        raise ConfigError(_bad_override(text))
    return Layer("-c", nest(path, parse_value(value)), source=f"-c {text}")


def _bad_override(text: str) -> str:
    return f"-c {text}: write it as `-c key=value`, such as `-c model=gpt-5.5`"


def parse_value(text: str) -> object:
    """Read a TOML value; what is not one is taken as a string, as it stands."""
    try:
        table = tomllib.loads(f"value = {text.strip()}")
    except tomllib.TOMLDecodeError:
        return text.strip()
    return table["value"] if len(table) == 1 else text.strip()


def flag_layer(flags: Mapping[str, object], base: Path) -> Layer:
    """Turn the values of dedicated flags, by dotted key, into one layer.

    Raises:
        ConfigError: What stands for a key is none; a client of a server may have sent it.
    """
    values: Table = {}
    for key, value in flags.items():
        # Paths in it are made absolute in place, and the caller's own tables stay as they are.
        place(values, key_path(key), deepcopy(value))
    return layer_with_paths(Layer("flag", values, source="command-line flag"), base)
