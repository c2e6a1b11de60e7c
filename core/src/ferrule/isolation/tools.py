"""Tools that run in a process of their own, as the session sees them.

The manager asks for them when a session is opened; from then on the orchestrator calls them like
any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ferrule.containment import contained
from ferrule.isolation.codec import (
    flag,
    plain,
    read_item,
    read_namespace,
    read_requirement,
    read_result,
    read_schema,
    table,
    text,
)
from ferrule.isolation.connection import Request
from ferrule.isolation.desk import Scene
from ferrule.isolation.frames import FrameError
from ferrule.isolation.guest import Guest
from ferrule.isolation.telling import own_item
from ferrule.remote_tool import RemoteTool
from ferrule_hookspecs.errors import FerruleError
from ferrule_hookspecs.tools import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import (
        FreeformSchema,
        FunctionSchema,
        HostedSchema,
        SandboxSession,
        Tool,
        ToolCall,
        ToolContext,
        ToolResult,
    )

_ANSWER_S: Final = 30.0
_CLOSING_S: Final = 2.0


class IsolatedTools:
    """Opens what runs apart in one session."""

    def __init__(
        self,
        manager: PluginManager,
        context: PluginContext,
        report: Callable[[str], None],
        given: Callable[[str, PluginContext], PluginContext],
    ) -> None:
        """Open nothing yet.

        Args:
            manager: Makes the sandboxes.
            context: The session's.
            report: Told what fails, each in a sentence.
            given: Returns what a tool is constructed with, by its name.
        """
        self._manager = manager
        self._context = context
        self._report = report
        self._given = given

    async def open(self, entries: Sequence[Entry]) -> list[Tool]:
        """Start the processes that these tools run in, and return what they offer."""
        together: dict[str, list[Entry]] = {}
        for entry in entries:
            together.setdefault(entry.distribution, []).append(entry)
        found: list[Tool] = []

        async def open_one(members: Sequence[Entry]) -> None:
            found.extend(await self._opened(members))

        try:
            async with anyio.create_task_group() as group:
                for members in together.values():
                    group.start_soon(open_one, members)
        except BaseException:  # nobody will have what was opened already
            with anyio.CancelScope(shield=True):
                for tool in found:
                    await tool.aclose()
            raise
        return found

    async def _opened(self, members: Sequence[Entry]) -> list[Tool]:
        guest = None
        made: list[Tool] = []
        try:
            contexts = [self._given(entry.name, self._context) for entry in members]
            settings = [context.settings for context in contexts]
            wanted = list(zip(members, settings, strict=True))
            guest = Guest(self._manager, self._context, wanted, self._report)
            for entry, context, said in zip(members, contexts, await guest.open(), strict=True):
                if fault := said.get("fault"):
                    self._report(f"{entry.label} {text(fault)}; {entry.mend}")
                elif flag(said.get("is_enabled")):
                    made.append(IsolatedTool(context, guest, entry.name, said))
        except (FerruleError, OSError, ValueError) as error:
            first, made = members[0], []
            self._report(f"{first.label} cannot run in a process of its own: {error}; {first.mend}")
        except BaseException:  # who opens the session was cancelled
            made = []
            raise
        finally:
            if guest is not None:
                with anyio.CancelScope(shield=True):
                    await guest.keep({tool.name for tool in made})
        return made


class IsolatedTool(RemoteTool):
    """A tool of a guest."""

    def __init__(
        self, context: PluginContext, guest: Guest, name: str, description: Mapping[str, object]
    ) -> None:
        """Take what the tool said of itself.

        Raises:
            FrameError: That makes no sense.
        """
        super().__init__(context)
        self._guest = guest
        self._schema = read_schema(description.get("schema"))
        if self._schema.name != name:
            raise FrameError(f"its schema calls it {self._schema.name!r}, not {name!r}")
        self._overrides = {
            key: flag(value) for key, value in table(description.get("overrides")).items()
        }
        said: dict[str, object] = {
            "name": name,
            "description": text(description.get("description")),
            "namespace": read_namespace(description.get("namespace")),
        }
        for key in ("parallel", "read_only", "needs_client", "internal", "deferred"):
            said[key] = flag(description.get(key))
        vars(self).update(said)  # class attributes in the contract, which other tools share

    def schema(self) -> FunctionSchema | FreeformSchema | HostedSchema:
        """How the model is told to call it."""
        return self._schema

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Leave the arguments as they are; the orchestrator awaits `normalized`."""
        return arguments

    async def normalized(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Have the arguments checked where the tool is."""
        if not self._overrides.get("normalize"):
            return arguments
        return table(await self._ask("normalize", {"arguments": plain(arguments)}))

    async def shown(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """How the call is shown while it runs."""
        if not self._overrides.get("item"):
            return self.item(call, cwd)
        said = await self._ask("item", {"call": plain(call), "cwd": cwd})
        return own_item(read_item(said), {call.call_id})

    async def required(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """What the call needs before it may run."""
        if not self._overrides.get("requirement"):
            return Requirement()
        values = {"call": plain(call), "policy": plain(sandbox.policy)}
        return read_requirement(await self._ask("requirement", values, Scene(sandbox)))

    async def prewarm(self, context: ToolContext) -> None:
        """Have the tool prepare its first call."""
        if self._overrides.get("prewarm"):
            scene = Scene(context.sandbox, context)
            # In the background, so that it may take as long as in the process of Ferrule.
            await self._guest.ask(Request(self.name, "prewarm", _facts(context), scene))

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Have the tool do it."""
        values = {"call": plain(call), **_facts(context)}
        scene = Scene(context.sandbox, context, call.call_id)
        request = Request(self.name, "run", values, scene)
        result = read_result(await self._guest.ask(request))
        own_item(result.item, {call.call_id})
        return result

    async def aclose(self) -> None:
        """Have the tool end what it started, and its process with the last of its tools."""
        try:
            if self._guest.is_running and self._overrides.get("aclose"):
                with contained(self.name):
                    await self._ask("aclose", {}, limit_s=_CLOSING_S)
        finally:
            await self._guest.release(self.name)

    async def _ask(
        self,
        verb: str,
        values: Mapping[str, object],
        scene: Scene | None = None,
        limit_s: float = _ANSWER_S,
    ) -> object:
        return await self._guest.ask(Request(self.name, verb, values, scene, limit_s))


def _facts(context: ToolContext) -> dict[str, object]:
    return {
        "turn_id": context.turn_id,
        "thread_id": context.thread_id,
        "cwd": context.cwd,
        "output_token_limit": context.output_token_limit,
        "can_ask": context.ask_client is not None,
        "policy": plain(context.sandbox.policy),
    }
