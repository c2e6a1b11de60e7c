"""Who called a tool: what it can do, and the way back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext
    from mcp_types import ServerNotification, ServerRequest

AskingWay = Literal["form", "bare", "later", "never"]
"""How a client is asked.

`form` is elicitation, `bare` what it was before it was specified, `later` has the client call again
with its answers, as the protocol wants from 2026-07-28 on.
"""

_FIRST_WITH_ELICITATION: Final = "2025-06-18"


class _Note(BaseModel):
    """A notification, Codex's own included."""

    method: str
    params: dict[str, Any]


class _Question(BaseModel):
    """`elicitation/create`, with what Codex puts beside the fields that are specified."""

    method: str = "elicitation/create"
    params: dict[str, Any]


class Answer(BaseModel):
    """What a client answers, with what Codex's clients put beside the fields that are specified."""

    model_config = ConfigDict(extra="allow")

    action: str | None = None
    content: dict[str, Any] | None = None
    decision: Any = None


class Caller:
    """The client of one call."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._context = context
        self._progress = 0
        self.asking: AskingWay = _asking_way(context)
        self.takes_urls = _takes_urls(context)

    @property
    def request_id(self) -> str | int | None:
        """The call's id."""
        return self._context.request_id

    async def tell(self, thread_id: str, turn_id: str, event: Mapping[str, object]) -> None:
        """Send a `codex/event`; waits while the client does not read."""
        meta = {"requestId": self.request_id, "threadId": thread_id}
        note = _Note(
            method="codex/event", params={"_meta": meta, "id": turn_id, "msg": dict(event)}
        )
        await self._context.session.send_notification(
            cast("ServerNotification", note), related_request_id=self.request_id
        )

    async def progress(self, message: str) -> None:
        """Tell that something was done, where the client wants to know."""
        self._progress += 1
        await self._context.session.report_progress(self._progress, message=message)

    async def ask(self, params: Mapping[str, object]) -> Answer:
        """Put a question.

        Raises:
            MCPError: The client refuses to be asked, or is gone.
            ValidationError: Its answer makes no sense.
        """
        question = _Question(params=dict(params))
        metadata = ServerMessageMetadata(related_request_id=self.request_id)
        return await self._context.session.send_request(
            cast("ServerRequest", question), Answer, metadata=metadata
        )


def _takes_urls(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    declared = None if capabilities is None else capabilities.elicitation
    return declared is not None and declared.url is not None


def _asking_way(context: ServerRequestContext[Any, Any]) -> AskingWay:
    capabilities = context.session.client_capabilities
    declared = None if capabilities is None else capabilities.elicitation
    takes_forms = declared is not None and (declared.form is not None or declared.url is None)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return "later" if takes_forms else "never"
    if not context.session.can_send_request:
        return "never"
    if takes_forms:
        return "form"
    # A client of that time cannot declare it, and may know Codex's way to ask.
    return "bare" if context.protocol_version < _FIRST_WITH_ELICITATION else "never"
