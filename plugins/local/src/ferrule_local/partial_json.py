"""Reads a text out of a JSON object that is still being written."""

from __future__ import annotations

import json
from typing import Final

_ESCAPE_LENGTH: Final = 6


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
        length = _ESCAPE_LENGTH if raw[end : end + 2] == "\\u" else 2
        if end + length > len(raw):
            break
        if raw[end : end + 3].lower() == "\\ud":  # half of a pair: the whole text comes at the end
            break
        end += length
    return str(json.loads(f'"{raw[:end]}"', strict=False))
