"""A session without a kernel for a tool: real files, real processes, scripted answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_hookspecs.sandbox import Launch, ResolvedPolicy, WritableRoot
from ferrule_testkit.conformance.local_files import LocalFiles
from ferrule_testkit.conformance.local_process import LocalProcess, start

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from ferrule_hookspecs.events import Event, ServerRequest
    from ferrule_hookspecs.sandbox import Command, CommandResult, Denial

MARK: Final = "FERRULE_TESTKIT_MARK"
"""The variable that every process of a scene has, so that it can be found."""


class LocalSession:
    """Satisfies the contract's `SandboxSession`: files are under the policy, processes are free."""

    def __init__(self, policy: ResolvedPolicy) -> None:
        """Start nothing yet."""
        self.policy = policy
        self.files = LocalFiles(policy)
        self.commands: list[Command] = []
        self._started: list[LocalProcess] = []

    async def spawn(self, command: Command) -> LocalProcess:
        """Start a command."""
        self.commands.append(command)
        with anyio.CancelScope(shield=True):  # or a cancellation finds it neither ours nor gone
            process = await start(Launch(command.argv, command.env, command.cwd), command)
            self._started.append(process)
        return process

    def classify(self, result: CommandResult) -> Denial | None:
        """Nothing is refused here."""
        return None

    async def aclose(self) -> None:
        """End everything that runs."""
        for process in self._started:
            await process.aclose()


class Scene:
    """Satisfies the contract's `ToolContext`.

    Attributes:
        events: What the tool told the session's clients.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        answer: Mapping[str, object] | None = None,
        policy: ResolvedPolicy | None = None,
    ) -> None:
        """Work in a folder; `answer` is what the client says to every question."""
        self.thread_id, self.turn_id = "thread-1", "turn-1"
        self.cwd = str(folder)
        self.sandbox = LocalSession(policy or writable(folder))
        self.output_token_limit = 10_000
        self.events: list[Event] = []
        self.ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None = None
        self._environ = dict(environ)
        self._answer = answer
        if answer is not None:
            self.ask_client = self._say

    def emit(self, event: Event) -> None:
        """Keep what clients are told."""
        self.events.append(event)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for a command."""
        return {**self._environ, **(extra or {})}

    async def _say(self, question: ServerRequest) -> Mapping[str, object]:
        return self._answer or {}


@asynccontextmanager
async def scene(
    folder: Path, mark: str, answer: Mapping[str, object] | None = None
) -> AsyncIterator[Scene]:
    """A scene whose processes end with the block."""
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        MARK: mark,
    }
    made = Scene(folder, environ, answer)
    try:
        yield made
    finally:
        await made.sandbox.aclose()


def writable(folder: Path, deny_read: Sequence[str] = ()) -> ResolvedPolicy:
    """The policy `workspace-write` over a folder."""
    roots = (WritableRoot(str(folder)),)
    return ResolvedPolicy("workspace-write", str(folder), roots, tuple(deny_read))
