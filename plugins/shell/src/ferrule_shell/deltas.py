"""Tells clients the output of a running command, in few events however it comes."""

from __future__ import annotations

import asyncio
import codecs
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY_SECONDS: Final = 0.05
_EVERY_BYTES: Final = 16 * 1024
_LIMIT: Final = 1024 * 1024  # the completed item tells the rest


class OutputDeltas:
    """Gathers output and passes it on as text."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self._emit = emit
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._gathered: list[bytes] = []
        self._size = 0
        self._sent = 0
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None

    def append(self, data: bytes) -> None:
        """Add what came next."""
        if self._is_stopped or self._sent + self._size >= _LIMIT:
            return
        self._gathered.append(data)
        self._size += len(data)
        if self._size >= _EVERY_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_SECONDS, self._flush)

    def close(self) -> None:
        """Pass on the rest."""
        self._flush(is_final=True)

    def stop(self) -> None:
        """Pass on nothing more."""
        self._gathered = []
        self._size = 0
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self, *, is_final: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._sent += self._size
        self._size = 0
        text = self._decoder.decode(b"".join(self._gathered), is_final)
        self._gathered = []
        if text and not self._is_stopped:
            self._emit(text)
