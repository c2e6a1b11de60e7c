"""Checks the arguments of a call; written out by hand because every call passes through."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ferrule_hookspecs.errors import ToolArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Arguments:
    """The raw arguments of a call; a null counts as absent."""

    def __init__(self, raw: Mapping[str, object]) -> None:
        self._raw = raw

    def text(self, name: str) -> str | None:
        """Return a text."""
        value = self._raw.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean."""
        value = self._raw.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def count(self, name: str, default: int | None) -> int | None:
        """Return a whole number that is not negative."""
        value = self._raw.get(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(name, "a whole number that is not negative")
        return value

    def choice(self, name: str, *choices: str) -> str:
        """Return one of the choices; the first is the default."""
        value = self._raw.get(name)
        if value is None:
            return choices[0]
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return cast("str", value)

    def texts(self, name: str) -> list[str] | None:
        """Return a list of texts."""
        value = self._raw.get(name)
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            raise self._wrong(name, "a list of strings")
        words = cast("list[object]", list(value))  # pyright: ignore[reportUnknownArgumentType]
        if not all(isinstance(word, str) for word in words):
            raise self._wrong(name, "a list of strings")
        return cast("list[str]", words)

    def require(self, name: str) -> None:
        """Insist on an argument."""
        if self._raw.get(name) is None:
            raise ToolArgumentError(f"failed to parse function arguments: missing field `{name}`")

    def _wrong(self, name: str, wanted: str) -> ToolArgumentError:
        got = repr(self._raw[name])
        got = got if len(got) <= 60 else f"{got[:60]}…"
        return ToolArgumentError(
            f"failed to parse function arguments: `{name}` must be {wanted}, not {got}"
        )
