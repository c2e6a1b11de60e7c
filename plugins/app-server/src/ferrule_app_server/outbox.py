"""What waits to be sent to one client: in order, bounded, with deltas merged for a slow reader."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_app_server import envelope
from ferrule_hookspecs.deltas import DELTA_METHODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from ferrule_app_server.envelope import Message

_HIGH_WATER: Final = 1024
"""So many messages may wait; whoever can wait then does."""
_OVERRUN: Final = 8 * _HIGH_WATER
"""What nobody can wait with, such as news of other threads, is not kept beyond so many."""
_MERGE_FROM: Final = 16
"""With fewer messages waiting the reader is not slow, and gets every delta as it came."""
_MERGE_LIMIT: Final = 64 * 1024
_Key = tuple[object, ...]


class _Letter:
    __slots__ = ("after", "key", "message")

    def __init__(
        self, message: Message, key: _Key | None, after: Callable[[], None] | None
    ) -> None:
        self.message = message
        self.key = key
        self.after = after


class Outbox:
    """Messages for one client."""

    def __init__(self) -> None:
        self._letters: deque[_Letter] = deque()
        self._latest: dict[_Key, _Letter] = {}
        self._arrived = anyio.Event()
        self._room = anyio.Event()
        self._taken = 0
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether the reader is far behind."""
        return len(self._letters) >= _HIGH_WATER and not self.is_closed

    @property
    def is_overrun(self) -> bool:
        """Whether the reader is so far behind that it is given up."""
        return len(self._letters) >= _OVERRUN and not self.is_closed

    @property
    def taken(self) -> int:
        """How many messages the reader has taken so far."""
        return self._taken

    def put(self, message: Message, after: Callable[[], None] | None = None) -> None:
        """Queue a message; `after` is called when it was sent, or never will be."""
        if self.is_closed:
            if after is not None:
                after()
            return
        key = _delta_key(message)
        if key is not None and self._merged(key, message):
            return
        self._append(_Letter(message, key, after))

    def put_latest(self, key: _Key, message: Message) -> None:
        """Queue a message that replaces the one of the same key, if that still waits."""
        waiting = self._latest.get(key)
        if waiting is not None:
            waiting.message = message
        elif not self.is_closed:
            self._append(_Letter(message, key, None))

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        while self.is_full:
            if self._room.is_set():
                self._room = anyio.Event()
            await self._room.wait()

    async def empty(self) -> None:
        """Wait until everything was taken."""
        while self._letters and not self.is_closed:
            if self._room.is_set():
                self._room = anyio.Event()
            await self._room.wait()

    def close(self) -> None:
        """Let the reader finish after what is queued."""
        self.is_closed = True
        self._arrived.set()
        self._room.set()

    def abandon(self) -> None:
        """Nobody reads any more: drop what is queued."""
        self.close()
        letters, self._letters = self._letters, deque()
        self._latest.clear()
        for letter in letters:
            if letter.after is not None:
                letter.after()

    async def read(self) -> AsyncIterator[bytes]:
        """Yield messages in order until the outbox is closed and empty."""
        while True:
            while self._letters:
                letter = self._take()
                try:
                    yield envelope.write(letter.message)
                finally:
                    if letter.after is not None:
                        letter.after()
            if self.is_closed:
                return
            self._arrived = anyio.Event()
            await self._arrived.wait()

    def _take(self) -> _Letter:
        letter = self._letters.popleft()
        self._taken += 1
        if letter.key is not None and self._latest.get(letter.key) is letter:
            del self._latest[letter.key]
        if len(self._letters) < _HIGH_WATER // 2:
            self._room.set()
        return letter

    def _append(self, letter: _Letter) -> None:
        self._letters.append(letter)
        if letter.key is not None:
            self._latest[letter.key] = letter
        self._arrived.set()

    def _merged(self, key: _Key, message: Message) -> bool:
        """Add a delta to the one of the same item that still waits; those sent to others stay."""
        waiting = self._latest.get(key)
        if waiting is None or len(self._letters) < _MERGE_FROM:
            return False
        old = cast("Mapping[str, object]", waiting.message["params"])
        new = cast("Mapping[str, object]", message["params"])
        text = str(old["delta"])
        if len(text) > _MERGE_LIMIT:
            return False
        waiting.message = {**waiting.message, "params": {**old, "delta": text + str(new["delta"])}}
        return True


def _delta_key(message: Message) -> _Key | None:
    method = message.get("method")
    if method not in DELTA_METHODS:
        return None
    params = cast("Mapping[str, object]", message["params"])
    return method, params.get("threadId"), params.get("itemId"), params.get("summaryIndex")
