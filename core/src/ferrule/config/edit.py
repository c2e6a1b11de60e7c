"""Edits of `config.toml` that keep comments and order; atomic, and one writer at a time.

tomlkit does the edits where it is installed. A lean installation has none; there a new table is
written at the end of the file, which is all that trusting a project needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ferrule.config.layers import Layer, check_layer, parse_toml
from ferrule.config.provenance import key_path
from ferrule.config.tables import (
    MISSING,
    KeyPath,
    Table,
    is_list,
    is_table,
    join_key,
    lookup,
    texts,
)
from ferrule.home_file import locked, replace_text
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.container import Container

    from ferrule_hookspecs.host import ConfigEdit


@dataclass(frozen=True, slots=True)
class ConfigFileEditor:
    """Changes single keys of one configuration file."""

    file: Path

    def set(self, path: Sequence[str], value: object) -> None:
        """Set a key, making the tables around it.

        Raises:
            ConfigError: The file would no longer be a valid configuration, or cannot be written.
        """
        self._edit(lambda text: _with_value(text, path, value))

    def apply(self, edits: Sequence[ConfigEdit], guard: Callable[[str, str], object]) -> None:
        """Make several changes, all or none.

        Args:
            edits: The changes, in order.
            guard: Called with the text before and after, while nobody else can write; whatever it
                raises leaves the file as it is.

        Raises:
            ConfigError: The file would no longer be a valid configuration, or cannot be written.
        """

        def change(text: str) -> str:
            changed = _with_edits(text, edits)
            guard(text, changed)
            return changed

        self._edit(change)

    def unset(self, path: Sequence[str]) -> bool:
        """Remove a key; returns whether it was there."""
        return self._edit(lambda text: _without_value(text, path))

    def _edit(self, change: Callable[[str], str]) -> bool:
        try:
            with locked(self.file):
                text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
                values = parse_toml(text, str(self.file))
                changed = change(text)
                self._check(changed, before=set(_unknown(values)))
                if changed != text:
                    replace_text(self.file.resolve(), changed)
                return changed != text
        except OSError as error:
            raise ConfigError(f"{self.file} cannot be changed: {error.strerror}") from error

    def _check(self, text: str, before: set[str]) -> None:
        """Refuse wrong types, and unknown keys that were not there before."""
        values = parse_toml(text, str(self.file))
        layer = Layer("user", values, str(self.file), text)
        check_layer(layer, strict=bool(set(_unknown(values)) - before))


def _unknown(values: dict[str, object]) -> Iterator[str]:
    from ferrule.config.check import find_problems
    from ferrule.config.model import ConfigFile

    found = find_problems(values, ConfigFile)
    return (join_key(problem.path) for problem in found if problem.is_unknown)


def _with_value(text: str, path: Sequence[str], value: object) -> str:
    try:
        import tomlkit
    except ModuleNotFoundError:
        return _with_table(text, path, value)
    document = tomlkit.parse(text)
    _set(document, path, value)
    return tomlkit.dumps(document)


def _with_edits(text: str, edits: Sequence[ConfigEdit]) -> str:
    for edit in edits:
        path = key_path(edit.key)
        if edit.value is None:
            text = _without_value(text, path)
        elif edit.merge and is_table(edit.value):
            for inner, value in _leaves(edit.value, path):
                text = _with_value(text, inner, value)
        else:
            text = _with_value(text, path, _without_nothing(edit.value))
    return text


def _leaves(table: Table, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for key, value in table.items():
        inner = (*path, key)
        if is_table(value) and value:
            yield from _leaves(value, inner)
        elif value is not None:
            yield inner, value


def _without_nothing(value: object) -> object:
    """Leave out what is None, for which TOML has no word."""
    if is_table(value):
        return {key: _without_nothing(each) for key, each in value.items() if each is not None}
    if is_list(value):
        return [_without_nothing(each) for each in value if each is not None]
    return value


def _without_value(text: str, path: Sequence[str]) -> str:
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise ConfigError(_needs_tomlkit(path)) from error
    document = tomlkit.parse(text)
    return tomlkit.dumps(document) if _unset(document, path) else text


def _with_table(text: str, path: Sequence[str], value: object) -> str:
    """Add a table with one value at the end of the file; a table that is there stays as it is."""
    table, key = path[:-1], path[-1]
    if not table or lookup(parse_toml(text, ""), table) is not MISSING:
        raise ConfigError(_needs_tomlkit(path))
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    shown = json.dumps(value, ensure_ascii=False)
    return f"{text}{gap}[{join_key(table)}]\n{join_key([key])} = {shown}\n"


def _needs_tomlkit(path: Sequence[str]) -> str:
    return (
        f"to change `{join_key(path)}` in a file tomlkit is needed, which a lean installation has"
        " not: install it, or edit the file by hand"
    )


def _set(document: TOMLDocument, path: Sequence[str], value: object) -> None:
    import tomlkit

    holder = cast("Container", document)
    for number, part in enumerate(path[:-1], start=1):
        if part not in holder:
            is_last = number == len(path) - 1
            holder[part] = tomlkit.table(is_super_table=not is_last)
        inner = holder[part]
        if not is_table(inner):
            where = join_key(path[:number])
            raise ConfigError(f"`{where}` holds a value, not a table; unset it first")
        holder = cast("Container", inner)
    old = cast("object", holder.get(path[-1]))  # pyright: ignore[reportUnknownMemberType] -- tomlkit
    if not _change_list(old, value):
        holder[path[-1]] = value


def _change_list(old: object, new: object) -> bool:
    """Change a list of texts where it stands, so that what is said beside its items stays."""
    from tomlkit.items import Array

    if not isinstance(old, Array) or not old or not is_list(new):
        return False
    if len(texts(old)) != len(old) or len(texts(new)) != len(new) or len({*new}) != len(new):
        return False
    items = cast("list[str]", old)
    for item in [item for item in items if item not in new]:
        items.remove(item)
    for item in [item for item in texts(new) if item not in items]:
        items.append(item)
    return texts(items) == list(new)


def _unset(document: TOMLDocument, path: Sequence[str]) -> bool:
    holder: object = document
    for part in path[:-1]:
        holder = holder.get(part) if is_table(holder) else None
    if not is_table(holder) or path[-1] not in holder:
        return False
    del holder[path[-1]]
    return True
