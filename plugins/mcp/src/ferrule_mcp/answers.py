"""What a running server may ask and tell us, and who deals with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio

from ferrule_mcp.questions import ask

if TYPE_CHECKING:
    from collections.abc import Callable

    import mcp_types as types
    from mcp.client.session import ClientRequestContext

    from ferrule_mcp.questions import Callers
    from ferrule_mcp.server_log import ServerLog
    from ferrule_mcp.server_settings import ServerSettings


class Answers:
    """The callbacks of one connection."""

    def __init__(
        self,
        settings: ServerSettings,
        callers: Callers,
        log: ServerLog,
        warn: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._callers = callers
        self._log = log
        self._warn = warn

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Put a question before the user."""
        return await ask(self._settings.name, self._callers, params, self._warn)

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Name the folder of the sessions that use the server."""
        from pathlib import Path

        import mcp_types

        await anyio.lowlevel.checkpoint()
        folder = Path(self._settings.root)
        root = mcp_types.Root.model_validate({"uri": folder.as_uri(), "name": folder.name})
        return mcp_types.ListRootsResult(roots=[root])

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the model in the server's place, if a reviewer agrees."""
        from ferrule_mcp.sampling import sample

        return await sample(self._settings.name, self._callers, params, self._warn)

    async def note(self, params: types.LoggingMessageNotificationParams) -> None:
        """Keep a line that the server logs beside what it writes to its standard error."""
        await anyio.lowlevel.checkpoint()
        said = params.data if isinstance(params.data, str) else json.dumps(params.data)
        origin = f" {params.logger}" if params.logger else ""
        self._log.note(f"{params.level}{origin}: {said}")
