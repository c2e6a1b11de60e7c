"""What the tools of a confined process may use of the host: what any tool is given for a call.

Files and commands go through the sandbox of the call's attempt, as they do for every tool. A
question counts for the call in whose name it is asked, and only as long as that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule.isolation.codec import (
    Table,
    blob,
    items,
    number,
    optional_number,
    plain,
    read_command,
    read_command_result,
    read_edit,
    table,
    text,
)
from ferrule.isolation.frames import LIMIT, FrameError
from ferrule.isolation.telling import read_event, read_question
from ferrule_hookspecs.errors import ToolError
from ferrule_hookspecs.tools import ToolContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import Process, SandboxSession

_MOST_PROCESSES: Final = 64
_READABLE: Final = LIMIT // 2  # what is read grows by a third on its way
_MOST_WARNINGS: Final = 100
_LOOKS: Final = ("files.check", "sandbox.classify")


class Scene(NamedTuple):
    """What a call may use; without a context it is only looked at yet, and without an id none."""

    sandbox: SandboxSession
    context: ToolContext | None = None
    call_id: str = ""


class Desk:
    """Serves one process."""

    def __init__(self, context: PluginContext) -> None:
        """Take the session's context."""
        self._context = context
        self._processes: dict[int, Process] = {}
        self._reading: set[tuple[int, str]] = set()
        self._calls: set[str] = set()
        self._last_handle = 0
        self._warnings = 0
        self._verbs: dict[str, Callable[[Table, Scene], Awaitable[object]]] = {
            "files.check": self._check,
            "files.stat": self._stat,
            "files.read": self._read,
            "files.list": self._list,
            "files.apply": self._apply,
            "sandbox.classify": self._classify,
            "sandbox.spawn": self._spawn,
            "context.environment": self._environment,
            "context.ask_client": self._ask_client,
        }

    def admit(self, scene: Scene) -> None:
        """Take the news of a call from now on, also after it has returned."""
        if scene.call_id:
            self._calls.add(scene.call_id)

    async def answer(self, verb: str, values: Table, scene: Scene | None) -> object:
        """Do what the process asks for.

        Raises:
            FrameError: It asked for what there is not.
            Exception: What was asked for failed.
        """
        if verb.startswith("process."):
            return await self._of_process(verb.removeprefix("process."), values)
        if verb not in self._verbs:
            raise FrameError(f"{verb!r} is not offered to tools in a process of their own")
        if scene is None:
            raise ToolError("the call has ended, and with it what it was given")
        if scene.context is None and verb not in _LOOKS:
            raise ToolError("a call that is not approved yet can only be looked at")
        return await self._verbs[verb](values, scene)

    def hear(self, verb: str, values: Table) -> None:
        """Take what needs no answer.

        Raises:
            FrameError: It is nothing that can be told.
        """
        if verb == "warn":
            self._warnings += 1
            if self._warnings <= _MOST_WARNINGS:
                self._context.warn(text(values.get("message"))[:2_000])
        elif verb == "ready":
            return
        elif verb == "emit":
            self._emit(values)
        elif verb.startswith("process."):
            self._steer(verb.removeprefix("process."), values)
        else:
            raise FrameError(f"it told {verb!r}, which is nothing")

    def close(self) -> None:
        """End every command that the process started."""
        for process in self._processes.values():
            process.kill()
        self._processes.clear()

    def _emit(self, values: Table) -> None:
        """Tell clients of a call of this process; the rest is not a tool's to tell."""
        event = read_event(values.get("event"), self._context.thread_id, self._calls)
        try:
            self._context.emit(event)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise FrameError(f"it told clients what is no event: {error!r}") from None

    async def _check(self, values: Table, scene: Scene) -> object:
        operation = "write" if values.get("operation") == "write" else "read"
        return plain(scene.sandbox.files.check(operation, text(values.get("path"))))

    async def _stat(self, values: Table, scene: Scene) -> object:
        return plain(await scene.sandbox.files.stat(text(values.get("path"))))

    async def _read(self, values: Table, scene: Scene) -> object:
        path, limit = text(values.get("path")), optional_number(values.get("limit"))
        most = _READABLE if limit is None else min(limit, _READABLE)
        data = await scene.sandbox.files.read(path, limit=most + 1 if limit is None else most)
        if len(data) > _READABLE or (limit is not None and limit > _READABLE == len(data)):
            raise ToolError(
                f"{path} is larger than {_READABLE // 2**20} MiB, more than a tool in a process of"
                " its own can read at once"
            )
        return plain(data)

    async def _list(self, values: Table, scene: Scene) -> object:
        return plain(await scene.sandbox.files.list(text(values.get("path"))))

    async def _apply(self, values: Table, scene: Scene) -> object:
        await scene.sandbox.files.apply([read_edit(one) for one in items(values.get("edits"))])
        return None

    async def _classify(self, values: Table, scene: Scene) -> object:
        return plain(scene.sandbox.classify(read_command_result(values.get("result"))))

    async def _environment(self, values: Table, scene: Scene) -> object:
        extra = {name: text(each) for name, each in table(values.get("extra")).items()}
        return cast("ToolContext", scene.context).environment(extra)

    async def _ask_client(self, values: Table, scene: Scene) -> object:
        ask = cast("ToolContext", scene.context).ask_client
        if ask is None:
            raise ToolError("no client of this session can answer")
        question = read_question(values.get("question"), self._context.thread_id, self._calls)
        return plain(await ask(question))

    async def _spawn(self, values: Table, scene: Scene) -> object:
        if len(self._processes) >= _MOST_PROCESSES:
            raise ToolError(f"{_MOST_PROCESSES} commands of the tool run already")
        process = await scene.sandbox.spawn(read_command(values.get("command")))
        self._last_handle += 1
        self._processes[self._last_handle] = process
        return {"handle": self._last_handle, "pid": process.pid}

    async def _of_process(self, verb: str, values: Table) -> object:
        process = self._process(values)
        match verb:
            case "read" | "read_stderr":
                return await self._output_of(process, verb, number(values.get("handle")))
            case "write":
                return await process.write(blob(values.get("data")))
            case "wait":
                return await process.wait()
            case _:
                raise FrameError(f"a command cannot {verb!r}")

    async def _output_of(self, process: Process, verb: str, handle: int) -> object:
        """Await output; a stream has one reader at a time, who gives up its descriptor alone."""
        if (handle, verb) in self._reading:
            raise ToolError("the output of the command is being read already")
        self._reading.add((handle, verb))
        try:
            return plain(await (process.read() if verb == "read" else process.read_stderr()))
        finally:
            self._reading.discard((handle, verb))

    def _steer(self, verb: str, values: Table) -> None:
        process = self._process(values)
        match verb:
            case "resize":
                process.resize(number(values.get("rows")), number(values.get("columns")))
            case "close_input":
                process.close_input()
            case "send_signal":
                process.send_signal(number(values.get("number")))
            case "kill":
                process.kill()
            case "forget":  # it goes on to the end of the session, as any tool's would
                del self._processes[number(values.get("handle"))]
            case _:
                raise FrameError(f"a command cannot {verb!r}")

    def _process(self, values: Table) -> Process:
        process = self._processes.get(number(values.get("handle")))
        if process is None:
            raise FrameError("it named a command that it did not start")
        return process
