"""How the embedded model is run, as the provider's table says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTEXT: Final = 8_192
_BATCH: Final = 512


class Settings(NamedTuple):
    """What may be configured.

    Attributes:
        threads: Threads of the native code.
        context: Tokens of prompt and answer together.
        max_steps: Most steps of one turn.
        batch: Tokens of a prompt that are read at a time.
    """

    threads: int
    context: int
    max_steps: int
    batch: int


def read_settings(table: Mapping[str, object]) -> Settings:
    """Read the table.

    Raises:
        ConfigError: A value is not a number, or out of range.
    """
    return Settings(
        threads=_number(table, "threads", max(1, _cores() - 1), 1, 256),
        context=_number(table, "context", _CONTEXT, 2_048, 32_768),
        max_steps=_number(table, "max_steps", 24, 1, 1_000),
        batch=_number(table, "batch", _BATCH, 32, 2_048),
    )


def _number(table: Mapping[str, object], key: str, default: int, low: int, high: int) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(
            f"model_providers.local.settings.{key} must be a whole number from {low} to {high}, "
            f"not {value!r}"
        )
    return value


def _cores() -> int:
    """Count the cores this process may use: a container often has fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
