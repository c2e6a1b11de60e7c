"""Where the prompt comes from: the command line, stdin, or both."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Final

from ferrule_exec.errors import ExecError

if TYPE_CHECKING:
    from ferrule_exec.stream import Stream

FIRST_DATA_S: Final = 1.0
"""How long a given prompt waits for additional input on an open stdin.

A parent process often leaves its end of the pipe open and never writes; a pipe that is meant, such
as `git diff | ferrule exec …`, has written long before.
"""


class PromptError(ExecError):
    """There is no usable prompt."""


class Stdin:
    """The standard input, by file descriptor."""

    def __init__(self, fd: int = 0) -> None:
        self.fd = fd

    def isatty(self) -> bool:
        """Tell whether a person types here."""
        return os.isatty(self.fd)

    def read(self, *, first_data_s: float | None = None) -> str:
        """Read to the end.

        Args:
            first_data_s: Seconds to wait for the first byte (or the end); then it counts as empty.
        """
        if first_data_s is not None and not self._has_data(first_data_s):
            return ""
        chunks: list[bytes] = []
        try:
            while chunk := os.read(self.fd, 1 << 16):
                chunks.append(chunk)
        except OSError:  # a closed descriptor is an empty input
            return ""
        try:
            return b"".join(chunks).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise PromptError(
                f"stdin is not UTF-8 text (byte {error.start}); pass other data as a file"
            ) from error

    def _has_data(self, wait_s: float) -> bool:
        try:
            return bool(select.select([self.fd], [], [], wait_s)[0])
        except (OSError, ValueError):  # closed, or not something that can be polled
            return True


def compose(prompt: str | None, stdin: Stdin, progress: Stream) -> str:
    """Return the prompt of a new turn.

    Raises:
        PromptError: None was given.
    """
    if prompt is None or prompt == "-":
        return _from_stdin(prompt, stdin, progress)
    if stdin.isatty():
        return prompt
    progress.write("Reading additional input from stdin...\n")
    extra = stdin.read(first_data_s=FIRST_DATA_S)
    if not extra.strip():
        return prompt
    end = "" if extra.endswith("\n") else "\n"
    return f"{prompt}\n\n<stdin>\n{extra}{end}</stdin>"


def _from_stdin(prompt: str | None, stdin: Stdin, progress: Stream) -> str:
    if prompt is None:
        if stdin.isatty():
            raise PromptError("no prompt: give one as an argument or pipe it to stdin")
        progress.write("Reading prompt from stdin...\n")
    text = stdin.read()
    if not text.strip():
        raise PromptError("No prompt provided via stdin.")
    return text
