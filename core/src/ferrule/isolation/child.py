"""The confined process: makes a plugin's tools and runs their calls, one message after the other.

Runs only in the process that `guest.py` starts. What a tool prints goes to standard error, so that
it is never taken for an answer.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ferrule.isolation.codec import (
    Table,
    items,
    number,
    plain,
    read_call,
    read_policy,
    schema_table,
    table,
    text,
    texts,
)
from ferrule.isolation.faults import fault_table
from ferrule.isolation.frames import FrameError
from ferrule.isolation.pipe import Pipe
from ferrule.isolation.surroundings import RemoteContext, RemoteSandbox
from ferrule.loading import load_target
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from ferrule.isolation.frames import Message
    from ferrule_hookspecs.events import Event

_FLAGS: Final = ("parallel", "read_only", "needs_client", "internal", "deferred")
_METHODS: Final = ("item", "requirement", "prewarm", "aclose")


def main() -> None:
    """Serve the host until it is gone."""
    pipe = Pipe(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    pipe.send({"tell": "ready", "with": {}})
    anyio.run(Child(pipe).serve)


class Child:
    """Makes the tools and runs their calls."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._tools: dict[str, Tool] = {}
        self._running: dict[int, anyio.CancelScope] = {}
        self._verbs: dict[str, Callable[[Tool, Table, int], Awaitable[object]]] = {
            "normalize": self._normalize,
            "item": self._item,
            "requirement": self._requirement,
            "prewarm": self._prewarm,
            "run": self._run,
            "aclose": self._aclose,
        }

    async def serve(self) -> None:
        """Take messages; the reading thread ends the process when there will be none any more."""
        async with anyio.create_task_group() as group:
            self._pipe.listen(partial(self._take, group))
            await anyio.sleep_forever()

    def _take(self, group: TaskGroup, message: Message) -> None:
        if "cancel" in message:
            scope = self._running.get(number(message["cancel"]))
            if scope is not None:
                scope.cancel()
            return
        key = number(message.get("call"))
        self._running[key] = anyio.CancelScope()
        group.start_soon(self._attend, key, message)

    async def _attend(self, key: int, message: Message) -> None:
        reply: Message = {"reply": key}
        scope = self._running[key]
        with scope:
            try:
                reply["value"] = plain(await self._answer(key, message))
            except anyio.get_cancelled_exc_class() as error:
                if scope.cancel_called:
                    raise
                reply["error"] = fault_table(error)
            except BaseException as error:  # noqa: BLE001 -- a tool may raise anything
                reply["error"] = fault_table(error)
        del self._running[key]
        if scope.cancelled_caught:
            reply["error"] = {"kind": "fault", "text": "cancelled"}
        try:
            self._pipe.send(reply)
        except FrameError as error:
            self._pipe.send({"reply": key, "error": fault_table(error)})

    async def _answer(self, key: int, message: Message) -> object:
        verb, values = text(message.get("do")), table(message.get("with"))
        if verb == "open":
            told = table(values.get("context"))
            return [self._opened(table(one), told) for one in items(values.get("tools"))]
        return await self._verbs[verb](self._tools[text(message.get("tool"))], values, key)

    def _opened(self, wanted: Table, told: Table) -> Table:
        """Make a tool and describe it, or say why it cannot be made."""
        name = text(wanted.get("name"))
        what = "cannot be imported"
        try:
            roots = texts(wanted.get("roots"))
            found = load_target(text(wanted.get("target")), roots, text(wanted.get("import_path")))
            kind = _checked(found, name)
            what = "cannot be made"
            tool = kind(self._context(told, table(wanted.get("settings")), name))
            what = "cannot be offered"
            described = _described(tool)
        except BaseException as error:  # noqa: BLE001 -- whatever an import raises is the answer
            cause = str(error).strip().partition("\n")[0]
            return {"fault": f"{what}: {type(error).__name__}: {cause}"}
        self._tools[name] = tool
        return described

    def _context(self, told: Table, settings: Table, name: str) -> PluginContext:
        """What a tool may know: of the configuration its own table, of variables its own."""
        return PluginContext(
            home=Path(text(told.get("home"))),
            config={"tools": {name: settings}} if settings else {},
            cwd=text(told.get("cwd")),
            thread_id=text(told.get("thread_id")),
            environ=dict(os.environ),
            settings=settings,
            project_root=text(told.get("project_root")),
            is_trusted=told.get("is_trusted") is True,
            admin=Path(text(told.get("admin"))),
            warn=self._warn,
            emit=self._emit,
            role=text(told.get("role")),
        )

    def _warn(self, message: str) -> None:
        self._pipe.send({"tell": "warn", "with": {"message": message}})

    def _emit(self, event: Event) -> None:
        self._pipe.send({"tell": "emit", "with": {"event": plain(event)}})

    async def _normalize(self, tool: Tool, values: Table, key: int) -> object:
        return tool.normalize(table(values.get("arguments")))

    async def _item(self, tool: Tool, values: Table, key: int) -> object:
        return tool.item(read_call(values.get("call")), text(values.get("cwd")))

    async def _requirement(self, tool: Tool, values: Table, key: int) -> object:
        sandbox = RemoteSandbox(self._pipe, read_policy(values.get("policy")), key)
        return tool.requirement(read_call(values.get("call")), sandbox)

    async def _prewarm(self, tool: Tool, values: Table, key: int) -> object:
        return await tool.prewarm(RemoteContext(self._pipe, values, key))

    async def _run(self, tool: Tool, values: Table, key: int) -> object:
        context = RemoteContext(self._pipe, values, key)
        return await tool.run(read_call(values.get("call")), context)

    async def _aclose(self, tool: Tool, values: Table, key: int) -> object:
        return await tool.aclose()


def _checked(found: object, name: str) -> type[Tool]:
    if not (isinstance(found, type) and issubclass(found, Tool)):
        raise TypeError("it is not a subclass of ferrule_hookspecs.Tool")
    if getattr(found, "name", None) != name:
        raise TypeError(f"the tool calls itself {getattr(found, 'name', None)!r}, not {name!r}")
    return found


def _described(tool: Tool) -> Table:
    kind = type(tool)
    overrides = {name: getattr(kind, name) is not getattr(Tool, name) for name in _METHODS}
    overrides["normalize"] = (
        kind.normalize is not Tool.normalize or tool.arguments_model is not None
    )
    return {
        "description": plain(tool.description),
        "namespace": plain(tool.namespace),
        "schema": schema_table(tool.schema()),
        "is_enabled": bool(tool.is_enabled()),
        "overrides": overrides,
        **{name: bool(getattr(tool, name)) for name in _FLAGS},
    }
