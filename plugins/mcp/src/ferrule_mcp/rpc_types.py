"""What the methods for clients of the app-server take and give."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict


class StatusListResult(TypedDict):
    """Servers, and where the list goes on."""

    data: list[dict[str, object]]
    nextCursor: str | None


class ToolCallResult(TypedDict):
    """What a tool gave."""

    content: list[object]
    structuredContent: NotRequired[object]
    isError: NotRequired[bool]
    _meta: NotRequired[object]


class ResourceReadResult(TypedDict):
    """What a resource holds."""

    contents: list[dict[str, object]]


class ReloadResult(TypedDict):
    """Nothing."""


class PromptListParams(TypedDict):
    """The server whose prompts are wanted."""

    server: str
    threadId: NotRequired[str | None]


class PromptListResult(TypedDict):
    """Prompts to choose from."""

    prompts: list[dict[str, object]]


class PromptGetParams(TypedDict):
    """A prompt, and what it is filled in with."""

    server: str
    name: str
    arguments: NotRequired[dict[str, str] | None]
    threadId: NotRequired[str | None]


class PromptGetResult(TypedDict):
    """What a prompt says; the model reads it where the client sends it as input."""

    description: NotRequired[str]
    messages: list[dict[str, object]]


class LoginParams(TypedDict):
    """The server to sign in to."""

    name: str
    scopes: NotRequired[list[str] | None]
    threadId: NotRequired[str | None]
    timeoutSecs: NotRequired[int | None]


class LoginResult(TypedDict):
    """The address to visit."""

    authorizationUrl: str


class LoginCompletedParams(TypedDict):
    """How signing in ended."""

    name: str
    success: bool
    error: str | None
    threadId: str | None


class StatusListParams(TypedDict):
    """Which servers, and how much of them."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]
    detail: NotRequired[Literal["full", "toolsAndAuthOnly"] | None]
    serverName: NotRequired[str | None]
    threadId: NotRequired[str | None]


class ToolCallParams(TypedDict):
    """A call that the client makes itself."""

    threadId: str
    server: str
    tool: str
    arguments: NotRequired[object]
    _meta: NotRequired[object]


class ResourceReadParams(TypedDict):
    """A resource."""

    server: str
    uri: str
    threadId: NotRequired[str | None]
    connectorId: NotRequired[str | None]
    originCallId: NotRequired[str | None]
    target: NotRequired[object]
    _meta: NotRequired[dict[str, object] | None]
