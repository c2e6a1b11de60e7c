"""What a tool is given in its own process: the same objects as in the host's, asked over the pipe.

Made by `child.py`; a tool cannot tell them from those of a session, except that it is given its own
table of the configuration and its own variables only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ferrule.isolation.codec import (
    blob,
    number,
    plain,
    read_denial,
    read_folder,
    read_policy,
    read_stat,
    table,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Literal

    from ferrule.isolation.pipe import Pipe
    from ferrule_hookspecs.events import Event, ServerRequest
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        DirectoryEntry,
        FileEdit,
        FileStat,
        FileSystem,
        ResolvedPolicy,
    )
    from ferrule_hookspecs.tools import SandboxSession


class RemoteFiles:
    """Files as the sandbox of the call's attempt allows them; satisfies `FileSystem`."""

    def __init__(self, pipe: Pipe, during: int) -> None:
        self._pipe = pipe
        self._during = during

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """Tell what the policy would refuse, without touching the file."""
        asked = {"operation": operation, "path": path}
        return read_denial(self._pipe.ask_at_once("files.check", asked, self._during))

    async def stat(self, path: str) -> FileStat | None:
        """Look at a path; None when nothing is there."""
        return read_stat(await self._ask("files.stat", {"path": path}))

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file, at most `limit` bytes."""
        return blob(await self._ask("files.read", {"path": path, "limit": limit}))

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """List a folder, sorted by name."""
        return read_folder(await self._ask("files.list", {"path": path}))

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Make all edits or none."""
        await self._ask("files.apply", {"edits": plain(edits)})

    async def _ask(self, verb: str, values: Mapping[str, object]) -> object:
        return await self._pipe.ask(verb, values, self._during)


class RemoteProcess:
    """A command that the host runs for the tool; satisfies `Process`."""

    def __init__(self, pipe: Pipe, handle: int, pid: int) -> None:
        self.pid = pid
        self._pipe = pipe
        self._handle = handle
        self._asked: dict[str, _Kept] = {}

    async def read(self) -> bytes:
        """Await more output; empty at its end."""
        return blob(await self._once("read"))

    async def read_stderr(self) -> bytes:
        """Await more of stderr, where it was asked for apart; empty at its end."""
        return blob(await self._once("read_stderr"))

    async def write(self, data: bytes) -> None:
        """Write to its input."""
        values = {"handle": self._handle, "data": plain(data)}
        await self._pipe.ask("process.write", values, 0)

    async def wait(self) -> int:
        """Await its end; exit code, or 128 + n when signal n ended it."""
        return number(await self._once("wait"))

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of its terminal."""
        self._tell("resize", rows=rows, columns=columns)

    def close_input(self) -> None:
        """End its input."""
        self._tell("close_input")

    def send_signal(self, number: int) -> None:
        """Send a signal to the command."""
        self._tell("send_signal", number=int(number))

    def kill(self) -> None:
        """Kill it and everything it started."""
        self._tell("kill")

    def __del__(self) -> None:
        """Let the host forget a command that nobody can reach any more.

        With the next message: this may run in the middle of another one.
        """
        self._pipe.unreachable.append(self._handle)

    def _tell(self, verb: str, **values: int) -> None:
        message = {"handle": self._handle, **values}
        self._pipe.send({"tell": f"process.{verb}", "with": message})

    async def _once(self, verb: str) -> object:
        """Ask, or await what was asked before by somebody who was cancelled: no output is lost."""
        kept = self._asked.get(verb)
        if kept is None:
            kept = self._asked[verb] = _Kept(self._pipe, f"process.{verb}", self._handle)
        await kept.answered.wait()
        if self._asked.get(verb) is kept:
            del self._asked[verb]
        return kept.value


class _Kept:
    """A question that outlives who asked it."""

    def __init__(self, pipe: Pipe, verb: str, handle: int) -> None:
        self.answered = anyio.Event()
        self._question = pipe.begin(verb, {"handle": handle}, self.answered)

    @property
    def value(self) -> object:
        return self._question.value


class RemoteSandbox:
    """The sandbox of one attempt; satisfies `SandboxSession`."""

    def __init__(self, pipe: Pipe, policy: ResolvedPolicy, during: int) -> None:
        self.policy = policy
        self.files: FileSystem = RemoteFiles(pipe, during)
        self._pipe = pipe
        self._during = during

    async def spawn(self, command: Command) -> RemoteProcess:
        """Start a command; raises `SandboxUnavailableError` when the sandbox cannot start."""
        asked = {"command": plain(command._replace(door=None))}
        found = table(await self._pipe.ask("sandbox.spawn", asked, self._during))
        return RemoteProcess(self._pipe, number(found.get("handle")), number(found.get("pid")))

    def classify(self, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox made a command fail."""
        asked = {"result": plain(result)}
        return read_denial(self._pipe.ask_at_once("sandbox.classify", asked, self._during))


class RemoteContext:
    """What a call is given; satisfies `ToolContext`."""

    ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None

    def __init__(self, pipe: Pipe, facts: Mapping[str, object], during: int) -> None:
        self.thread_id = text(facts.get("thread_id"))
        self.turn_id = text(facts.get("turn_id"))
        self.cwd = text(facts.get("cwd"))
        self.output_token_limit = number(facts.get("output_token_limit"))
        self.sandbox: SandboxSession = RemoteSandbox(pipe, read_policy(facts.get("policy")), during)
        self.ask_client = self._ask_client if facts.get("can_ask") else None
        self._pipe = pipe
        self._during = during

    def emit(self, event: Event) -> None:
        """Tell the session's clients something; also after the call has returned."""
        self._pipe.send({"tell": "emit", "with": {"event": plain(event)}})

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for a command, `extra` merged in and the environment policy applied."""
        asked = {"extra": dict(extra or {})}
        found = table(self._pipe.ask_at_once("context.environment", asked, self._during))
        return {name: text(value) for name, value in found.items()}

    async def _ask_client(self, request: ServerRequest) -> Mapping[str, object]:
        asked = {"question": plain(request)}
        return table(await self._pipe.ask("context.ask_client", asked, self._during))
