"""What the model reads about a command: a header, and its output cut to a budget of tokens."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_shell.retained import RetainedOutput

_BYTES_PER_TOKEN: Final = 4
# The whole reply, header included, may exceed the session's limit by a fifth.
_SLACK: Final = 1.2


@dataclass(frozen=True, slots=True)
class Reply:
    """How a command stands.

    Attributes:
        seconds: How long the call took.
        exit_code: How the command ended; None while it runs.
        session_id: By what number it is addressed while it runs.
        notices: Lines the model must read whatever the command is.
    """

    seconds: float
    exit_code: int | None
    session_id: int | None
    notices: Sequence[str] = ()

    def render(self, output: RetainedOutput, max_tokens: int, session_limit: int) -> str:
        """Write the reply."""
        if self.exit_code is None:
            state = f"Process running with session ID {self.session_id}"
        else:
            state = f"Process exited with code {self.exit_code}"
        header = "\n".join(
            [
                f"Chunk ID: {os.urandom(3).hex()}",
                f"Wall time: {self.seconds:.4f} seconds",
                state,
                *self.notices,
                f"Original token count: {_tokens(output.total)}",
                "Output:\n",
            ]
        )
        room = int(session_limit * _SLACK) * _BYTES_PER_TOKEN - len(header.encode())
        budget = min(max_tokens, session_limit) * _BYTES_PER_TOKEN
        return header + shortened(output, budget, room)


def shortened(output: RetainedOutput, budget: int, room: int) -> str:
    """Cut the middle out of an output.

    Args:
        output: What is kept of the output.
        budget: How many bytes of it may be shown.
        room: How many bytes the result may have, explanations included.
    """
    text = output.text()
    data = text.encode()
    if len(data) <= min(budget, room):
        return text
    lines = text.count("\n") + (not text.endswith("\n"))
    second = (
        f"... {output.omitted} bytes omitted ..."
        if output.omitted
        else f"Total output lines: {lines}"
    )
    warning = (
        f"Warning: truncated output (original token count: {_tokens(output.total)})\n{second}\n\n"
    )
    around = len((warning + _marker(len(data) - budget)).encode())
    budget = max(0, min(budget, (room - around) // _BYTES_PER_TOKEN * _BYTES_PER_TOKEN))
    head = data[: budget // 2].decode(errors="ignore")
    tail = data[len(data) - (budget - budget // 2) :].decode(errors="ignore")
    return f"{warning}{head}{_marker(len(data) - budget)}{tail}"


def _marker(size: int) -> str:
    return f"…{_tokens(size)} tokens truncated…"


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)
