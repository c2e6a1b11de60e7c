"""The text of a configuration file: changed key by key, so that comments and order stay."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, cast

from ferrule_import_codex.tables import Table, as_table, leaves, lookup, place, remove

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule_import_codex.tables import KeyPath


def without(
    text: str, dropped: Iterable[KeyPath], changed: Iterable[tuple[KeyPath, object]]
) -> str:
    """Return a file's text without some keys and with other values for some."""
    import tomlkit

    wanted = tomllib.loads(text)
    document = tomlkit.parse(text)
    for path in dropped:
        remove(wanted, path)
        _quietly_remove(document, path)
    for path, value in changed:
        place(wanted, path, value)
        place(cast("Table", document), path, value)
    return _checked(document, wanted)


def merged(text: str, source_text: str, keys: Iterable[KeyPath]) -> str:
    """Return a file's text with keys added or replaced by those of another file."""
    import tomlkit

    if not text.strip():
        source = tomllib.loads(source_text)
        kept = set(keys)
        return without(source_text, [path for path, _ in leaves(source) if path not in kept], ())
    wanted = tomllib.loads(text)
    document = tomlkit.parse(text)
    source, source_document = tomllib.loads(source_text), tomlkit.parse(source_text)
    for path in keys:
        value = lookup(source, path)
        place(wanted, path, value)
        _place(cast("Table", document), path, lookup(cast("Table", source_document), path))
    return _checked(document, wanted)


def _place(document: Table, path: KeyPath, value: object) -> None:
    """Set a key; tables that must be made get a header of their own."""
    import tomlkit

    holder = document
    for number, part in enumerate(path[:-1], start=1):
        if as_table(holder.get(part)) is None:
            holder[part] = tomlkit.table(is_super_table=number < len(path) - 1)
        holder = cast("Table", holder[part])
    holder[path[-1]] = value


def _quietly_remove(document: object, path: KeyPath) -> None:
    """Take a key out; what the library cannot take out is found by the check."""
    import tomlkit.exceptions

    try:
        remove(cast("Table", document), path)
    except (KeyError, tomlkit.exceptions.TOMLKitError):
        return


def _checked(document: object, wanted: Table) -> str:
    """Return the document's text if it says what is wanted, else the plain values."""
    import tomlkit

    text = tomlkit.dumps(cast("Table", document))
    try:
        if tomllib.loads(text) == wanted:
            return text
    except tomllib.TOMLDecodeError:
        pass
    return tomlkit.dumps(wanted)
