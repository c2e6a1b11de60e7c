"""One running command: reads it, keeps its output, and completes its item once."""

from __future__ import annotations

import contextlib
import signal
import time
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_hookspecs.errors import FerruleError, ToolError
from ferrule_shell.deltas import OutputDeltas
from ferrule_shell.retained import RetainedOutput

if TYPE_CHECKING:
    from ferrule_hookspecs.items import CommandExecutionItem
    from ferrule_hookspecs.tools import Process, ToolContext

_ENDED_BY_US: Final = -1
_INTERRUPT: Final = "\x03"


class RunningCommand:
    """A command from its start to its end, which may come long after the call.

    Attributes:
        session_id: By what number the model addresses it.
        item: Its item as it was started.
        unread: Output the model has not seen.
        exit_code: How it ended; None while it runs.
        ended: Set once it has ended and its output is complete.
        last_used: When the model last dealt with it, on the monotonic clock.
        is_detached: Whether it outlives its call.
        turn: Invariant of this lock: one call at a time takes unread output, so that each piece
            is shown once.
    """

    def __init__(
        self,
        session_id: int,
        item: CommandExecutionItem,
        process: Process,
        context: ToolContext,
        *,
        has_terminal: bool,
    ) -> None:
        self.session_id = session_id
        self.item = item
        self.unread = RetainedOutput()
        self.exit_code: int | None = None
        self.ended = anyio.Event()
        self.last_used = time.monotonic()
        self.turn = anyio.Lock()
        self._process = process
        self._context = context
        self._output = RetainedOutput()
        self._deltas = OutputDeltas(self._tell_delta)
        self._started = time.monotonic()
        self._milliseconds = 0
        self.is_detached = False
        self._has_terminal = has_terminal
        self._is_ended_by_us = False

    async def follow(self) -> None:
        """Read the output and await the end."""
        try:
            while data := await self._process.read():
                self._output.append(data)
                self.unread.append(data)
                self._deltas.append(data)
            self.exit_code = await self._process.wait()
        except (OSError, FerruleError) as error:
            for output in (self._output, self.unread):
                output.append(f"\n[{error}]\n".encode())
        finally:
            if self.exit_code is None:
                self._process.kill()
                self.exit_code = _ENDED_BY_US
            self._milliseconds = int((time.monotonic() - self._started) * 1000)
            self._deltas.close()
            self.ended.set()
            if self.is_detached:
                self._tell_end()

    @property
    def is_ended_by_us(self) -> bool:
        """Whether it did not end by itself."""
        return self._is_ended_by_us

    def detach(self) -> None:
        """Let it go on after its call: from now on its end is told from here."""
        self.is_detached = True

    def kill(self) -> None:
        """End it, and everything it started."""
        if self.exit_code is None:
            self._is_ended_by_us = True
            self._process.kill()

    def abandon(self) -> None:
        """End it, and tell what it had written: its turn was interrupted."""
        self._deltas.stop()
        self.kill()
        self._tell_end()

    async def write(self, text: str, turn_id: str) -> None:
        """Type into it.

        Raises:
            ToolError: It has no terminal, or has closed its input.
        """
        is_interrupt = bool(text) and not text.strip(_INTERRUPT)
        if text and not self._has_terminal and not is_interrupt:
            raise ToolError(
                f"write_stdin failed: stdin of session {self.session_id} is closed because the "
                "command was started without a terminal; start it again with tty set to true"
            )
        self._tell_interaction(text, turn_id)
        if is_interrupt and not self._has_terminal:
            self._process.send_signal(signal.SIGINT)
        elif text:
            # Where it has just ended, the result tells so.
            with contextlib.suppress(BrokenPipeError):
                await self._process.write(text.encode(errors="replace"))

    def take_unread(self) -> RetainedOutput:
        """Take what the model has not seen; a character that is not complete yet stays."""
        taken, self.unread = self.unread, RetainedOutput()
        if self.exit_code is None:
            self.unread.append(taken.give_back())
        return taken

    def end(self, size: int) -> bytes:
        """Return the end of the whole output."""
        return self._output.end(size)

    def completed_item(self) -> CommandExecutionItem:
        """Return the item in its final form."""
        code = _ENDED_BY_US if self._is_ended_by_us else self.exit_code
        return {
            **self.item,
            "status": "completed" if code == 0 else "failed",
            "processId": str(self.session_id) if self.is_detached else None,
            "aggregatedOutput": self._output.text(),
            "exitCode": code,
            "durationMs": self._milliseconds,
        }

    def _tell_interaction(self, text: str, turn_id: str) -> None:
        self._context.emit(
            {
                "method": "item/commandExecution/terminalInteraction",
                "params": {
                    "threadId": self._context.thread_id,
                    "turnId": turn_id,
                    "itemId": self.item["id"],
                    "processId": str(self.session_id),
                    "stdin": text,
                },
            }
        )

    def _tell_delta(self, text: str) -> None:
        self._context.emit(
            {
                "method": "item/commandExecution/outputDelta",
                "params": {
                    "threadId": self._context.thread_id,
                    "turnId": self._context.turn_id,
                    "itemId": self.item["id"],
                    "delta": text,
                },
            }
        )

    def _tell_end(self) -> None:
        self._context.emit(
            {
                "method": "item/completed",
                "params": {
                    "threadId": self._context.thread_id,
                    "turnId": self._context.turn_id,
                    "item": self.completed_item(),
                    "completedAtMs": time.time_ns() // 1_000_000,
                },
            }
        )
