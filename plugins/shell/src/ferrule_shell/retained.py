"""Keeps the beginning and the end of an output of any length, in bounded memory."""

from __future__ import annotations

import codecs
from collections import deque
from typing import Final

HALF: Final = 512 * 1024
_MERGE_BELOW: Final = 4096


class RetainedOutput:
    """The first and the last 512 KiB of what was appended."""

    def __init__(self) -> None:
        self.total = 0
        self._head: list[bytes] = []
        self._head_size = 0
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    @property
    def omitted(self) -> int:
        """How many bytes are not kept."""
        return max(0, self.total - 2 * HALF)

    def append(self, data: bytes) -> None:
        """Add what came next."""
        self.total += len(data)
        if room := HALF - self._head_size:
            self._head.append(data[:room])
            self._head_size += len(self._head[-1])
            data = data[room:]
        if not data:
            return
        self._tail_size += len(data)
        if self._tail and len(self._tail[-1]) + len(data) < _MERGE_BELOW:
            self._tail[-1] += data
        else:
            self._tail.append(data)
        while self._tail_size - len(self._tail[0]) >= HALF:
            self._tail_size -= len(self._tail.popleft())

    def end(self, size: int) -> bytes:
        """Return the last bytes, at most `size` of them."""
        return (b"".join(self._head) + self._tail_bytes())[-size:]

    def text(self) -> str:
        """Return what is kept as text, with a line that tells how much is not."""
        if not self.omitted:
            return (b"".join(self._head) + self._tail_bytes()).decode(errors="replace")
        head = b"".join(self._head)
        head = head[: len(head) - len(_cut_character(head))]
        tail = self._tail_bytes()
        tail = tail[_continuation(tail) :]
        return (
            f"{head.decode(errors='replace')}\n... {self.omitted} bytes omitted ...\n"
            f"{tail.decode(errors='replace')}"
        )

    def give_back(self) -> bytes:
        """Take off the beginning of a character whose rest has not come yet."""
        rest = _cut_character(self.end(4))
        size = len(rest)
        self.total -= size
        while size:
            is_tail = bool(self._tail)
            chunk = self._tail.pop() if is_tail else self._head.pop()
            kept = chunk[: max(0, len(chunk) - size)]
            if is_tail:
                self._tail_size -= len(chunk)
            else:
                self._head_size -= len(chunk)
            size -= len(chunk) - len(kept)
            self.total -= len(kept)
            self.append(kept)
        return rest

    def _tail_bytes(self) -> bytes:
        return b"".join(self._tail)[-HALF:]


def _cut_character(data: bytes) -> bytes:
    """Return the beginning of a character at the very end of `data`."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    end = data[-4:]
    decoder.decode(end[_continuation(end) :])
    return decoder.getstate()[0]


def _continuation(data: bytes) -> int:
    """Count the bytes at the beginning that continue a character which is not there."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count
