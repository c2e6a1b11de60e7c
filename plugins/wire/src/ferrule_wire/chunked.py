"""Decodes a body in HTTP/1.1's chunked transfer coding (RFC 9112, section 7.1)."""

from __future__ import annotations

from typing import Final

from ferrule_wire.channel import BrokenLineError

_LONGEST_SIZE_LINE: Final = 1024
_LONGEST_TRAILERS: Final = 64 * 1024


class ChunkedBody:
    """Takes bytes as they arrive and gives back the body's own, all chunks of a piece in one.

    Attributes:
        is_complete: The last chunk and the trailers have been read.
    """

    def __init__(self) -> None:
        """Start before the first chunk."""
        self.is_complete = False
        self._buffer = b""
        self._later: list[bytes] = []
        self._missing = 0
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Add bytes; return what they complete of the body.

        Raises:
            BrokenLineError: This is no chunked body.
        """
        if self._missing > len(data):  # inside of a large chunk: do not copy it again and again
            self._later.append(data)
            self._missing -= len(data)
            return b""
        self._missing = 0
        data = b"".join((self._buffer, *self._later, data))
        self._later.clear()
        return self._decode(data)

    def _decode(self, data: bytes) -> bytes:
        body: list[bytes] = []
        at = 0
        while not self._in_trailers:
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                if len(data) - at > _LONGEST_SIZE_LINE:
                    raise BrokenLineError("a chunk has no size")
                break
            start = line_end + 2
            end = start + _size(data[at:line_end])
            if end == start:
                self._in_trailers = True
                at = line_end  # its CR LF may be the first half of the empty line
                break
            if end + 2 > len(data):
                self._missing = end + 2 - len(data)
                break
            if data[end : end + 2] != b"\r\n":
                raise BrokenLineError("a chunk is longer than its size")
            body.append(data[start:end])
            at = end + 2
        self._buffer = data[at:]
        if self._in_trailers:
            self._read_trailers()
        return b"".join(body)

    def _read_trailers(self) -> None:
        self.is_complete = b"\r\n\r\n" in self._buffer
        if not self.is_complete and len(self._buffer) > _LONGEST_TRAILERS:
            raise BrokenLineError("the trailers are too long")


def _size(line: bytes) -> int:
    try:
        size = int(line.partition(b";")[0], 16)
    except ValueError:
        size = -1
    if size < 0:
        raise BrokenLineError("a chunk has no valid size")
    return size
