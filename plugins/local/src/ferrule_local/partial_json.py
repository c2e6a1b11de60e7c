"""Reads a text out of a JSON object that is still being written."""

from __future__ import annotations

import json
from typing import Final

_UNICODE: Final = 6
_PAIR: Final = 12
_FIRST_OF_PAIR: Final = ("\\ud8", "\\ud9", "\\uda", "\\udb")


class GrowingText:
    """The value of one key at the top of an object, as far as it has come."""

    def __init__(self, key: str) -> None:
        """Wait for the key; the object is written in the form of `json.dumps`."""
        self._opening = f'"{key}": "'
        self._shown = 0

    def read(self, written: str) -> str:
        """Return what is new of the text, given all of the object that is written so far."""
        begin = written.find(self._opening)
        if begin < 0:
            return ""
        text = _decoded(written[begin + len(self._opening) :])
        new, self._shown = text[self._shown :], max(self._shown, len(text))
        return new


def _decoded(raw: str) -> str:
    """Decode a JSON text up to its end, or up to the last character that is surely whole."""
    end = 0
    while end < len(raw) and raw[end] != '"':
        if raw[end] != "\\":
            end += 1
            continue
        length = _escape_length(raw[end : end + 4].lower())
        if end + length > len(raw):
            break
        end += length
    return str(json.loads(f'"{raw[:end]}"', strict=False))


def _escape_length(begin: str) -> int:
    if begin in _FIRST_OF_PAIR:
        return _PAIR
    return _UNICODE if begin[:2] == "\\u" else 2
