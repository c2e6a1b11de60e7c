"""Reading JSON that may be of any shape: what is not as it should be counts as absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


def table(value: object) -> Mapping[str, object]:
    """The value as a table, an empty one where it is none."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, object]]:
    """The tables in a list, none where it is no list."""
    if not isinstance(value, list):
        return []
    entries = cast("list[object]", value)
    return [cast("dict[str, object]", entry) for entry in entries if isinstance(entry, dict)]


def text(value: object) -> str:
    """The value as a text, an empty one where it is none."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """The value as a whole number, 0 where it is none."""
    return int(value) if isinstance(value, int | float) else 0
