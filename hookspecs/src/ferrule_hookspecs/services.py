"""What an open session does for its plugins when they ask: a model, files, a call of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.sandbox import FileSystem
    from ferrule_hookspecs.tools import ToolResult


class SessionServices(Protocol):
    """The services of one session; usable from its first hook to its last."""

    def provider(self, name: str = "") -> ModelProvider:
        """Open a model provider by its name, the session's for an empty one.

        It tries nothing again by itself, and the session closes it.

        Raises:
            ConfigError: It is not configured.
        """
        ...

    def files(self) -> FileSystem:
        """Return files as the session's sandbox policy lets a call without approval use them."""
        ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, object], *, call_id: str, turn_id: str
    ) -> ToolResult:
        """Call a tool of the session by name, such as `mcp__SERVER__TOOL`, in a running turn.

        The call goes the way of every call: assessed, reviewed, confined, shown and recorded under
        `call_id`, which must be new. A call that is refused or fails gives a result without
        success whose output says why; the model sees nothing of it.

        Raises:
            ToolArgumentError: There is no such tool, or its arguments do not fit.
        """
        ...
