"""The light check of configuration values against the definitions in `model.py`.

It runs on every start, so it reads the annotations directly instead of building pydantic models;
a test holds both to the same answers.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    cast,
    get_args,
    get_origin,
)

from typing_extensions import get_type_hints, is_typeddict

from ferrule.config.settings import OPEN_TABLES, Minimum
from ferrule.config.tables import KeyPath, Table, is_list, is_table, join_key

_SCALARS: Final[Mapping[object, str]] = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
}


class Problem(NamedTuple):
    """One thing wrong with a value: where it is, what it is, and a guess at what was meant."""

    path: KeyPath
    text: str
    is_unknown: bool = False
    hint: str = ""


class TableType(NamedTuple):
    """What one TypedDict asks for."""

    known: Mapping[str, object]
    required: frozenset[str]
    is_open: bool


@cache
def table_type(definition: type) -> TableType:
    """Read a TypedDict once."""
    keys: dict[str, object] = {}
    required: set[str] = set()
    is_total = bool(cast("Any", definition).__total__)
    for key, hint in get_type_hints(definition, include_extras=True).items():
        origin = get_origin(hint)
        if origin is Required or (is_total and origin is not NotRequired):
            required.add(key)
        keys[key] = get_args(hint)[0] if origin in (Required, NotRequired) else hint
    return TableType(keys, frozenset(required), definition in OPEN_TABLES)


def find_problems(value: object, expected: object, path: KeyPath = ()) -> Iterator[Problem]:
    """Compare a value with a type, deeply.

    Args:
        value: What a file, flag or option holds.
        expected: A TypedDict, `list[…]`, `dict[str, …]`, Literal, union or scalar type.
        path: Where the value stands.

    Yields:
        What does not fit, in the order of the value's keys.
    """
    bare, bound = _without_bound(expected)
    origin = get_origin(bare)
    if origin in (Union, types.UnionType):
        yield from _union_problems(value, bare, path)
    elif is_typeddict(bare) and is_table(value):
        yield from _table_problems(value, cast("type", bare), path)
    elif origin is dict and is_table(value):
        for key, item in value.items():
            yield from find_problems(item, get_args(bare)[1], (*path, key))
    elif origin is list and is_list(value):
        for index, item in enumerate(value):
            yield from find_problems(item, get_args(bare)[0], (*path, str(index)))
    elif bare is not object and (not _fits(value, bare) or _is_below(value, bound)):
        text = f"`{join_key(path)}` must be {describe(expected)}, not {show(value)}"
        yield Problem(path, text)


def _is_below(value: object, bound: float) -> bool:
    return isinstance(value, int | float) and not value >= bound


def _without_bound(expected: object) -> tuple[object, float]:
    if get_origin(expected) is not Annotated:
        return expected, float("-inf")
    bare, *notes = get_args(expected)
    return bare, max((note.bound for note in notes if isinstance(note, Minimum)), default=0)


def _union_problems(value: object, union: object, path: KeyPath) -> Iterator[Problem]:
    options = get_args(union)
    if not any(next(find_problems(value, option, path), None) is None for option in options):
        tables = [
            option for option in options if is_typeddict(option) or get_origin(option) is dict
        ]
        if is_table(value) and tables:
            yield from find_problems(value, tables[0], path)
        else:
            text = f"`{join_key(path)}` must be {describe(union)}, not {show(value)}"
            yield Problem(path, text)


def _table_problems(value: Table, definition: type, path: KeyPath) -> Iterator[Problem]:
    table = table_type(definition)
    for key, item in value.items():
        here = (*path, key)
        if key in table.known:
            yield from find_problems(item, table.known[key], here)
        elif not table.is_open:
            text = f"unknown configuration key `{join_key(here)}`"
            yield Problem(here, text, True, suggestion(key, table.known, path))
    for key in sorted(table.required - value.keys()):
        yield Problem(path, f"`{join_key(path)}` lacks the key `{key}`")


def suggestion(key: str, known: Mapping[str, object], path: KeyPath) -> str:
    """Guess which known key of a table was meant; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1, cutoff=0.7)
    return f"; did you mean `{join_key((*path, near[0]))}`?" if near else ""


def _fits(value: object, expected: object) -> bool:
    kind = cast("object", type(value))
    if get_origin(expected) is Literal:
        return isinstance(value, str) and value in get_args(expected)
    return kind is expected or (expected is float and kind is int)


def describe(expected: object) -> str:
    """Say in words what a type asks for."""
    bare, bound = _without_bound(expected)
    origin = get_origin(bare)
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option) for option in get_args(bare))
    if origin is Literal:
        return "one of " + ", ".join(f"`{choice}`" for choice in get_args(bare))
    if origin is list:
        inner = get_args(bare)[0]
        return "a list of strings" if inner is str else "a list"
    words = _SCALARS.get(bare, "a table")
    return f"{words} not below {bound}" if bound != float("-inf") else words


def show(value: object) -> str:
    """Show a wrong value with the name of its type."""
    if is_table(value):
        return "a table"
    if is_list(value):
        return "a list"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    kinds: dict[object, str] = {str: "the string", int: "the integer", float: "the number"}
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return f"{kinds.get(type(value), 'the value')} {shown}"
