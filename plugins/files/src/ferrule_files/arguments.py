"""Reads the arguments of the three tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import ToolArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping


def text(arguments: Mapping[str, object], name: str, default: str | None = None) -> str:
    """Return a text; one without a default must be there and not be empty."""
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if value is None or value == "":
        raise _error(f"missing field `{name}`")
    if not isinstance(value, str) or "\0" in value:
        raise _error(f"{name}: expected a text")
    return value


def number(arguments: Mapping[str, object], name: str, default: int, highest: int) -> int:
    """Return a whole number of at least 1; more than the highest is taken for the highest."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _error(f"{name}: expected a whole number of at least 1, not {value!r}")
    return min(value, highest)


def absolute(path: object, cwd: str) -> str:
    """Make a checked path absolute, with slashes on every platform."""
    return os.path.normpath(os.path.join(cwd, str(path))).replace(os.sep, "/")


def _error(message: str) -> ToolArgumentError:
    return ToolArgumentError(f"failed to parse function arguments: {message}")
