"""Tools whose code runs elsewhere, so that what other tools say at once has to be awaited.

The orchestrator asks every tool by these functions; to a tool of this process they make no
difference.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ferrule.call_parsing import function_arguments
from ferrule_hookspecs.tools import Requirement, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.tools import SandboxSession, ToolCall


class RemoteTool(Tool):
    """A tool of another process; what it is asked comes back as an awaitable."""

    @abstractmethod
    async def normalized(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check the arguments and fill in defaults."""

    @abstractmethod
    async def shown(self, call: ToolCall, cwd: str) -> ThreadItem | None:
        """How the call is shown while it runs."""

    @abstractmethod
    async def required(self, call: ToolCall, sandbox: SandboxSession) -> Requirement:
        """What the call needs before it may run."""


async def normalized(tool: Tool, call: ToolCall) -> ToolCall:
    """Return a call as it will be judged; that of a tool of this process is so already.

    Raises:
        ToolArgumentError: Its arguments do not fit.
    """
    if not isinstance(tool, RemoteTool) or call.form == "freeform":
        return call
    arguments, text = function_arguments(await tool.normalized(call.arguments))
    return call._replace(arguments=arguments, text=text)


async def shown(tool: Tool, call: ToolCall, cwd: str) -> ThreadItem | None:
    """Return how a call is shown while it runs."""
    return await tool.shown(call, cwd) if isinstance(tool, RemoteTool) else tool.item(call, cwd)


async def required(tool: Tool, call: ToolCall, sandbox: SandboxSession) -> Requirement:
    """Return what a call needs before it may run, in its tool's own opinion."""
    if isinstance(tool, RemoteTool):
        return await tool.required(call, sandbox)
    return tool.requirement(call, sandbox)
