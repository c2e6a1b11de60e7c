"""The commands of one session that outlive their calls; shared by both tools."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import anyio

from ferrule_shell.background import Background
from ferrule_shell.login import LoginEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_shell.running import RunningCommand

LIMIT: Final = 64
_CLOSE_SECONDS: Final = 5.0
_ID_RANGE: Final = range(10_000, 100_000)


class Terminals:
    """Numbers the running commands, bounds them, and ends them with the session."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.background = Background()
        self.login = LoginEnvironment(self.background)
        self._commands: dict[int, RunningCommand] = {}
        self._notices: list[str] = []

    def start(self, make: Callable[[int], RunningCommand]) -> RunningCommand:
        """Number a command and follow it."""
        number = _any_number()
        while number in self._commands:
            number = _any_number()
        command = self._commands[number] = make(number)
        self.background.start(command.follow())
        return command

    def find(self, number: int) -> RunningCommand | None:
        """Find a command and note that it is used."""
        command = self._commands.get(number)
        if command is not None:
            command.last_used = time.monotonic()
        return command

    def running_on(self) -> list[RunningCommand]:
        """The commands that outlive their calls and have not ended, oldest first."""
        commands = self._commands.values()
        return [each for each in commands if each.is_detached and each.exit_code is None]

    def forget(self, command: RunningCommand) -> None:
        """Drop a command whose end the model knows."""
        self._commands.pop(command.session_id, None)

    async def keep(self, command: RunningCommand) -> None:
        """Let a command outlive its call; the least recently used one makes room for it.

        Its end is told before this returns, so that it is not lost where the turn ends at once.
        """
        command.detach()
        command.last_used = time.monotonic()
        kept = [other for other in self._commands.values() if other.is_detached]
        if len(kept) <= LIMIT:
            return
        oldest = min(kept, key=lambda other: (other.exit_code is None, other.last_used))
        what = "was ended" if oldest.exit_code is None else "had ended and was forgotten"
        self._notices.append(
            f"Session {oldest.session_id} {what}, because at most {LIMIT} commands can be kept: "
            f"{oldest.item['command']}"
        )
        self.forget(oldest)
        oldest.kill()
        with anyio.move_on_after(_CLOSE_SECONDS):
            await oldest.ended.wait()

    def take_notices(self) -> list[str]:
        """Take what the model has not been told yet."""
        notices, self._notices = self._notices, []
        return notices

    async def aclose(self) -> None:
        """End every command and tell the end of each."""
        commands = list(self._commands.values())
        for command in commands:
            command.kill()
        with anyio.move_on_after(_CLOSE_SECONDS):
            for command in commands:
                await command.ended.wait()
        self._commands.clear()
        await self.background.aclose()
        _by_session.pop(self._key, None)


def _any_number() -> int:
    return _ID_RANGE[int.from_bytes(os.urandom(4)) % len(_ID_RANGE)]


_by_session: WeakValueDictionary[str, Terminals] = WeakValueDictionary()


def terminals_of(context: PluginContext) -> Terminals:
    """Return the commands of a session: the same for every tool of it."""
    key = context.thread_id or f"context {id(context)}"
    found = _by_session.get(key)
    if found is None:
        found = _by_session[key] = Terminals(key)
    return found


def background_of(thread_id: str) -> list[RunningCommand]:
    """Return the commands that a thread left running; none where it is not open."""
    found = _by_session.get(thread_id)
    return [] if found is None else found.running_on()
