"""How far a download is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Final, Protocol, TextIO

_BAR_WIDTH: Final = 30
_BAR_SECONDS: Final = 0.1
_LINE_PERCENT: Final = 10


class Progress(Protocol):
    """Is told how a download goes."""

    def start(self, total: int, done: int) -> None:
        """Begin to count bytes; some may be there already."""
        ...

    def advance(self, count: int) -> None:
        """Count bytes; negative where some have to be fetched again."""
        ...

    def say(self, text: str) -> None:
        """Tell something in a line of its own."""
        ...

    def finish(self) -> None:
        """Stop counting."""
        ...


class ShownProgress:
    """Shows it on a text stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Show it on standard error unless another stream is given."""
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._total = 0
        self._done = 0
        self._fetched = 0
        self._began = 0.0
        self._shown_at = 0.0
        self._shown_percent = 0
        self._has_bar = False

    def start(self, total: int, done: int) -> None:
        """Begin to count bytes; some may be there already."""
        self._total, self._done, self._fetched = total, done, 0
        self._began = time.monotonic()
        self._shown_at, self._shown_percent = 0.0, self._percent()
        if done:
            self.say(f"going on after {megabytes(done)}")

    def advance(self, count: int) -> None:
        """Count bytes and show the state where it is time to."""
        self._done += count
        self._fetched += count
        now = time.monotonic()
        if self._is_terminal and now - self._shown_at >= _BAR_SECONDS:
            self._shown_at = now
            self._draw()
        elif not self._is_terminal and self._percent() >= self._shown_percent + _LINE_PERCENT:
            self._shown_percent = self._percent() // _LINE_PERCENT * _LINE_PERCENT
            self._write(f"  {self._state()}\n")

    def say(self, text: str) -> None:
        """Tell something in a line of its own."""
        self._clear()
        self._write(f"{text}\n")

    def finish(self) -> None:
        """Take the bar away."""
        self._clear()

    def _percent(self) -> int:
        return min(100, self._done * 100 // self._total) if self._total else 0

    def _state(self) -> str:
        elapsed = time.monotonic() - self._began
        speed = self._fetched / elapsed if elapsed > 0 else 0.0
        text = f"{self._percent():3}%  {megabytes(self._done)} of {megabytes(self._total)}"
        return f"{text}, {megabytes(speed)}/s" if speed > 0 else text

    def _draw(self) -> None:
        filled = self._percent() * _BAR_WIDTH // 100
        bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
        self._write(f"\r\033[K[{bar}] {self._state()}")
        self._has_bar = True

    def _clear(self) -> None:
        if self._has_bar:
            self._write("\r\033[K")
            self._has_bar = False

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def megabytes(count: float) -> str:
    """Write a number of bytes for people."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
