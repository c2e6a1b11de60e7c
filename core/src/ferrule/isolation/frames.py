"""Messages over a pipe: four bytes that say how long it is, then a JSON object.

Both sides of the pipe use this. What comes from the other side is never believed: a message that is
too large, no JSON or no object ends the connection.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT: Final = 16 * 1024 * 1024
"""Most bytes of one message."""
_HEAD: Final = 4
_DEPTH: Final = 200
"""Deeper nesting may be more than a record can be written with."""

Message = dict[str, object]


class FrameError(PluginError):
    """What came over the pipe is no message, or too large a one."""


def encode(message: Message) -> bytes:
    """Write a message.

    Raises:
        FrameError: It is too large.
        TypeError: It holds what JSON cannot say.
        ValueError: Likewise.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > LIMIT:
        raise FrameError(
            f"{len(body) / 2**20:.1f} MiB are more than a tool in a process of its own can send or"
            f" be sent at once ({LIMIT // 2**20} MiB)"
        )
    return len(body).to_bytes(_HEAD, "big") + body


class FrameReader:
    """Cuts a stream of bytes into messages."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Take more of the stream; return the messages that are whole now.

        Raises:
            FrameError: It is no stream of messages; nothing more of it can be read.
        """
        self._rest += data
        found: list[Message] = []
        begin = 0
        while len(self._rest) - begin >= _HEAD:
            size = int.from_bytes(self._rest[begin : begin + _HEAD], "big")
            if size > LIMIT:
                raise FrameError("it sent what is no message, or too large a one")
            end = begin + _HEAD + size
            if len(self._rest) < end:
                break
            found.append(_parsed(bytes(self._rest[begin + _HEAD : end])))
            begin = end
        del self._rest[:begin]
        return found


def _parsed(body: bytes) -> Message:
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError):
        raise FrameError("it sent what is no message") from None
    if not isinstance(message, dict):
        raise FrameError("it sent what is no message")
    found = cast("Message", message)
    if body.count(b"{") + body.count(b"[") > _DEPTH and _is_deep(found):
        raise FrameError("it sent what is nested too deeply")
    return found


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()
