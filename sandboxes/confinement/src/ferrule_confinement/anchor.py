"""Speaks to the script that stands for a session where its commands run; see `anchor_script.py`.

One request at a time, each with a deadline: an anchor that does not answer is given up, and with it
everything it stands for.
"""

from __future__ import annotations

import errno
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@")
_PR_SET_CHILD_SUBREAPER: Final = 36
_DEADLINE_SECONDS: Final = 60.0
_PIECE: Final = 64 * 1024
_LAST_WORDS: Final = 4_000
_LONGEST_ANSWER: Final = 512 * 1024 * 1024  # hexadecimal: a file of a fifth of that
_END: Final = b".\n"
_REASONS: Final = (
    ("no such file or directory", errno.ENOENT),
    ("nonexistent directory", errno.ENOENT),
    ("not a directory", errno.ENOTDIR),
    ("is a directory", errno.EISDIR),
    ("read-only file system", errno.EROFS),
    ("permission denied", errno.EACCES),
    ("operation not permitted", errno.EPERM),
    ("file exists", errno.EEXIST),
    ("no space left", errno.ENOSPC),
    ("invalid argument", errno.EINVAL),
    ("directory not empty", errno.ENOTEMPTY),
    ("too many levels of symbolic links", errno.ELOOP),
    ("file name too long", errno.ENAMETOOLONG),
    ("device or resource busy", errno.EBUSY),
)


class Anchor:
    """The held end of an anchor; it ends when this one is closed, or this process is gone."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], first: bytes = b"") -> None:
        """Start what runs the anchor, send it `first`, and keep its input open.

        Raises:
            SandboxUnavailableError: It cannot be started.
        """
        self._lock = threading.Lock()  # a request and its answer are one
        self._is_closed = False
        try:
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,  # an interrupt typed at the terminal is not for it
                preexec_fn=_inheritance(),
            )
        except OSError as error:
            raise SandboxUnavailableError(f"{argv[0]} cannot be run: {error.strerror}") from error
        self._input, self._output, self._errors = _descriptors(self._process)
        self._send(first)

    @property
    def is_alive(self) -> bool:
        """Whether it still answers, as far as is known."""
        return not self._is_closed and self._process.poll() is None

    def first_line(self) -> str:
        """Read the line an anchor on a machine begins with."""
        with self._lock:
            return os.fsdecode(self._read_to(b"\n")).rstrip("\n")

    def ask(self, operation: str, *arguments: str, data: bytes | None = None) -> bytes:
        """Have an operation done; returns its output.

        Raises:
            OSError: It failed as file operations fail.
            SandboxUnavailableError: The anchor is gone or does not answer.
        """
        line = " ".join((operation, *map(_encoded, arguments))) + "\n"
        with self._lock:
            self._send(line.encode("ascii") + (data or b""))
            output, code = self._answer()
        if code == b"0":
            return output
        raise _as_os_error(output, arguments)

    def write(self, path: str, data: bytes, umask: str = "") -> None:
        """Make a file that was not there before; what fails leaves what is there to the caller."""
        self.ask("create", path, umask)
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self.ask("append", path, str(len(piece)), data=piece)

    def close(self) -> None:
        """End it and what it stands for."""
        self._is_closed = True
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _send(self, data: bytes) -> None:
        if self._is_closed:
            raise SandboxUnavailableError("the sandbox of the session has ended")
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._input, rest) :]
        except OSError:
            raise self._gone() from None

    def _answer(self) -> tuple[bytes, bytes]:
        """Read an answer; commands may have got hold of the anchor, so that it may be anything."""
        text = self._read_to(_END)[: -len(_END)]
        try:
            output, _, code = bytes.fromhex(text.decode("ascii")).rpartition(b"\n")
        except ValueError:
            raise self._gone() from None
        return output, code

    def _read_to(self, end: bytes) -> bytes:
        deadline = time.monotonic() + _DEADLINE_SECONDS
        parts: list[bytes] = []
        tail, size = b"", 0
        while not _ends_with_line(tail, end):
            chunk = self._read_piece(deadline)
            size += len(chunk)
            if not chunk or size > _LONGEST_ANSWER:
                raise self._gone()
            parts.append(chunk)
            tail = (tail + chunk)[-len(_END) - 1 :]
        return b"".join(parts)

    def _read_piece(self, deadline: float) -> bytes:
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        return os.read(self._output, _PIECE) if ready else b""

    def _gone(self) -> SandboxUnavailableError:
        """Give it up, and say what it said last."""
        self._process.kill()
        self._process.wait()
        os.set_blocking(self._errors, False)
        words = b""
        with suppress(OSError):
            words = os.read(self._errors, _LAST_WORDS)
        self.close()
        text = " ".join(words.decode("utf-8", "replace").split()) or "it was ended from outside"
        return SandboxUnavailableError(f"the sandbox of the session is gone: {text}")


def _descriptors(process: subprocess.Popen[bytes]) -> tuple[int, int, int]:
    streams = (process.stdin, process.stdout, process.stderr)
    stdin, stdout, stderr = (stream.fileno() for stream in streams if stream is not None)
    return stdin, stdout, stderr


def _inheritance() -> Callable[[], None] | None:
    """Have what an engine leaves running be its own affair, rather than come back to us.

    It ends with the anchor in good order, where we would kill it and leave the engine's books open.
    """
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ends_with_line(tail: bytes, end: bytes) -> bool:
    return tail.endswith(end if end == b"\n" else b"\n" + end)


def _encoded(word: str) -> str:
    data = os.fsencode(word)
    return "=" + "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in data)


def _as_os_error(output: bytes, arguments: Sequence[str]) -> OSError:
    text = output.decode("utf-8", "replace").strip()
    low = text.lower()
    number = next((number for words, number in _REASONS if words in low), errno.EIO)
    reason = text if number == errno.EIO and text else os.strerror(number)
    return OSError(number, reason, arguments[0] if arguments else None)
