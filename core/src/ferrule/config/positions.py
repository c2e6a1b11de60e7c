"""Finds the line and column of a key in a TOML text; used only when there is something to say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ferrule.config.tables import KeyPath, split_key

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\#[^\n]*)|(?P<newline>\n)"""
    r'''|(?P<text>"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')'''
    r"""|(?P<mark>[\[\]{}=,.])|(?P<bare>[^\s\[\]{}=,.\#"']+)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a key stands: line and column count from one."""

    line: int
    column: int
    length: int


def find_key(text: str, path: KeyPath) -> Position | None:
    """Find a key, or the nearest table around it; list items are numbered from `0`."""
    scan = _Scan([match for match in _TOKEN.finditer(text) if match.lastgroup != "space"])
    scan.document()
    for size in range(len(path), 0, -1):
        if span := scan.found.get(path[:size]):
            return position_at(text, *span)
    return None


def position_at(text: str, start: int, end: int) -> Position:
    """Turn a span of characters into a position."""
    line = text.count("\n", 0, start) + 1
    return Position(line, start - text.rfind("\n", 0, start), max(1, end - start))


def excerpt(text: str, position: Position) -> str:
    """Show the line with carets under the place."""
    lines = text.splitlines() or [""]
    shown = lines[min(position.line, len(lines)) - 1]
    margin = " " * len(str(position.line))
    carets = " " * (position.column - 1) + "^" * position.length
    return f"{margin} |\n{position.line} | {shown}\n{margin} | {carets}"


@dataclass(slots=True)
class _Scan:
    """A walk over the tokens of a valid document that notes where every key begins."""

    tokens: list[re.Match[str]]
    at: int = 0
    found: dict[KeyPath, tuple[int, int]] = field(default_factory=dict[KeyPath, tuple[int, int]])
    counts: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])

    def document(self) -> None:
        table: KeyPath = ()
        while self.at < len(self.tokens):
            if self.peek() == "\n":
                self.at += 1
            elif self.peek() == "[":
                table = self.header()
            else:
                self.pair(table)

    def peek(self) -> str:
        return self.tokens[self.at].group() if self.at < len(self.tokens) else ""

    def header(self) -> KeyPath:
        self.at += 1
        is_array = self.peek() == "["
        self.at += is_array
        keys, span = self.keys(stop="]")
        self.at += 1 + is_array
        path: KeyPath = ()
        for number, key in enumerate(keys, start=1):
            path = (*path, key)
            self.found.setdefault(path, span)
            if is_array and number == len(keys):
                self.counts[path] = self.counts.get(path, -1) + 1
            if path in self.counts:
                path = (*path, str(self.counts[path]))
        self.found[path] = span
        return path

    def keys(self, stop: str) -> tuple[KeyPath, tuple[int, int]]:
        parts: list[str] = []
        start = end = self.tokens[self.at].start()
        while (text := self.peek()) not in (stop, "\n", ""):
            if text != ".":
                end = self.tokens[self.at].end()
                parts.extend(split_key(text)[0])
            self.at += 1
        return tuple(parts), (start, end)

    def pair(self, table: KeyPath) -> None:
        keys, span = self.keys(stop="=")
        self.at += 1
        for size in range(1, len(keys) + 1):
            self.found.setdefault((*table, *keys[:size]), span)
        self.value((*table, *keys))

    def value(self, path: KeyPath) -> None:
        opening = self.peek()
        if opening == "{":
            self.at += 1
            self.entries(path, "}")
        elif opening == "[":
            self.at += 1
            self.entries(path, "]")
        else:
            while self.peek() not in (",", "]", "}", "\n", ""):
                self.at += 1

    def entries(self, path: KeyPath, closing: str) -> None:
        index = 0
        while (text := self.peek()) not in (closing, ""):
            if text in (",", "\n"):
                self.at += 1
            elif closing == "}":
                self.pair(path)
            else:
                self.value((*path, str(index)))
                index += 1
        self.at += 1
