"""What a server asks its client, in the form callbacks get it, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict

if TYPE_CHECKING:  # types of the wire cost 20 ms to import
    from ferrule_hookspecs.events import AskingAgent, PermissionsOnWire
    from ferrule_hookspecs.items import CommandAction, FileUpdateChange

Decision = Literal["accept", "accept_for_session", "decline", "cancel"]
"""`decline` lets the model go on without it, `cancel` ends the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What every request has; `kind` tells what else.

    Attributes:
        thread_id: The thread.
        turn_id: The turn.
        item_id: The item that waits.
        reason: Why it is asked.
        params: The request as it came.
        agent: Who asks, where it is a thread that works for the one you opened.
    """

    thread_id: str
    turn_id: str
    item_id: str
    reason: str | None
    params: Mapping[str, object] = field(repr=False)
    agent: AskingAgent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest(Request):
    """May this command run?

    Attributes:
        command: The command line, as it will run.
        cwd: Where.
        actions: What its parts do, where that is plain to see; to show, not to decide by.
    """

    kind: Literal["command"] = "command"
    command: str
    cwd: str | None
    actions: Sequence[CommandAction]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchRequest(Request):
    """May these files be changed?

    Attributes:
        changes: The files, with their diffs.
        grant_root: A folder that acceptance opens for more than this patch.
    """

    kind: Literal["patch"] = "patch"
    changes: Sequence[FileUpdateChange]
    grant_root: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionsRequest(Request):
    """May the calls that follow do this, beyond the sandbox?

    Attributes:
        permissions: What is asked for; acceptance grants all of it.
        cwd: Where.
    """

    kind: Literal["permissions"] = "permissions"
    permissions: PermissionsOnWire
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolRequest(Request):
    """May this tool of an MCP server be called?

    Attributes:
        server: The MCP server.
        tool: The tool.
        arguments: What it is called with.
    """

    kind: Literal["mcp_tool"] = "mcp_tool"
    server: str
    tool: str
    arguments: object


ApprovalRequest = CommandRequest | PatchRequest | PermissionsRequest | McpToolRequest
"""What the approvals callback gets; `kind` tells them apart."""


class ElicitationAnswer(TypedDict):
    """What a user says to an MCP server; `content` fits the schema that came with the question."""

    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[Mapping[str, object]]
