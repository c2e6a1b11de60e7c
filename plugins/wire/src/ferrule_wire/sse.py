"""Splits a byte stream of server-sent events into blocks. Knows nothing of what they carry."""

from __future__ import annotations

from typing import Final

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class BlockSplitter:
    """Collects bytes and gives back every block that has become complete.

    A block is what stands before an empty line, its lines parted by a single newline. Lines may end
    with CR LF, LF or CR, and the bytes may be cut anywhere.
    """

    def __init__(self) -> None:
        """Start with nothing collected."""
        self._buffer = bytearray()
        self._has_begun = False
        self._held_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes; return the blocks they complete, in order, empty ones left out."""
        data = self._with_plain_newlines(data)
        seen = len(self._buffer)
        self._buffer += data
        end = self._buffer.rfind(b"\n\n", max(seen - 1, 0))
        if end < 0:
            return []
        complete = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        if not self._has_begun:
            self._has_begun = True
            complete = complete.removeprefix(_BYTE_ORDER_MARK)
        return [block for part in complete.split(b"\n\n") if (block := part.strip(b"\n"))]

    def _with_plain_newlines(self, data: bytes) -> bytes:
        if self._held_return:
            data = b"\r" + data
            self._held_return = False
        if b"\r" not in data:
            return data
        if data.endswith(b"\r"):  # its LF may be in the next piece
            self._held_return = True
            data = data[:-1]
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def event_type(block: bytes) -> bytes | None:
    """Return the value of a block's `event` field when it is the first line, as servers send it."""
    if not block.startswith(b"event:"):
        return None
    end = block.find(b"\n")
    return block[6 : end if end >= 0 else len(block)].strip()


def event_data(block: bytes) -> bytes:
    """Return the value of a block's `data` fields, joined by newlines; empty if it has none."""
    before, _, last = block.rpartition(b"\n")
    if last.startswith(b"data:") and b"\n" not in before and before.startswith(b"event:"):
        return last[5:].removeprefix(b" ")  # as servers send it; saves a third of the splitting
    return b"\n".join(
        line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
    )
