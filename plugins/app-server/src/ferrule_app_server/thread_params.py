"""The parameters of methods about threads and turns. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ferrule_hookspecs.items import (
    LocalImageInput,
    MentionInput,
    SkillInput,
)
from ferrule_hookspecs.ops import TurnBudget
from ferrule_hookspecs.policies import (
    ApprovalPolicy,
    DangerFullAccess,
    ExternalSandbox,
    ReadOnly,
    WorkspaceWrite,
)

SortDirection = Literal["asc", "desc"]
ItemsView = Literal["notLoaded", "summary", "full"]
Sandbox = Annotated[
    DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite, Field(discriminator="type")
]


_Offset = Annotated[int, Field(ge=0)]


class ByteRange(TypedDict):
    """A part of a text, in bytes."""

    start: _Offset
    end: _Offset


class TextElement(TypedDict):
    """What a part of a text stands for."""

    byteRange: ByteRange
    placeholder: NotRequired[str | None]


class TextParams(TypedDict):
    """Text a user typed."""

    type: Literal["text"]
    text: str
    text_elements: NotRequired[list[TextElement]]


class ImageInput(TypedDict):
    """An image by URL, or by the id of an uploaded file, which is refused."""

    type: Literal["image"]
    url: NotRequired[str | None]
    fileId: NotRequired[str | None]
    detail: NotRequired[Literal["auto", "low", "high", "original"] | None]


class AudioInput(TypedDict):
    """Sound, which no provider here takes; refused with a reason."""

    type: Literal["audio"]
    url: NotRequired[str | None]
    fileId: NotRequired[str | None]


class LocalAudioInput(TypedDict):
    """A file of sound."""

    type: Literal["localAudio"]
    path: str


Input = Annotated[
    TextParams
    | ImageInput
    | LocalImageInput
    | AudioInput
    | LocalAudioInput
    | SkillInput
    | MentionInput,
    Field(discriminator="type"),
]


class FunctionTool(TypedDict):
    """A tool that the client runs."""

    type: NotRequired[Literal["function"]]
    name: str
    description: str
    inputSchema: dict[str, object] | bool
    deferLoading: NotRequired[bool | None]


class ToolNamespace(TypedDict):
    """Tools of the client under a common name."""

    type: Literal["namespace"]
    name: str
    description: NotRequired[str | None]
    tools: list[FunctionTool]


class OpeningParams(TypedDict):
    """What a thread may be opened with."""

    cwd: NotRequired[str | None]
    model: NotRequired[str | None]
    modelProvider: NotRequired[str | None]
    approvalPolicy: NotRequired[ApprovalPolicy | None]
    approvalsReviewer: NotRequired[str | None]
    sandbox: NotRequired[Literal["read-only", "workspace-write", "danger-full-access"] | None]
    permissions: NotRequired[str | None]
    config: NotRequired[dict[str, object] | None]
    baseInstructions: NotRequired[str | None]
    developerInstructions: NotRequired[str | None]
    serviceTier: NotRequired[str | None]
    personality: NotRequired[Literal["none", "friendly", "pragmatic"] | None]
    runtimeWorkspaceRoots: NotRequired[list[str] | None]


class ThreadStartParams(OpeningParams):
    """Parameters of `thread/start`."""

    ephemeral: NotRequired[bool | None]
    sessionStartSource: NotRequired[Literal["startup", "clear"] | None]
    historyMode: NotRequired[Literal["legacy", "paginated"] | None]
    dynamicTools: NotRequired[list[FunctionTool | ToolNamespace] | None]


class TurnsPageParams(TypedDict):
    """Which turns to send at once."""

    limit: NotRequired[int | None]
    sortDirection: NotRequired[SortDirection | None]
    itemsView: NotRequired[ItemsView | None]


class ThreadResumeParams(OpeningParams):
    """Parameters of `thread/resume`."""

    threadId: str
    excludeTurns: NotRequired[bool | None]
    initialTurnsPage: NotRequired[TurnsPageParams | None]


class ThreadForkParams(OpeningParams):
    """Parameters of `thread/fork`."""

    threadId: str
    ephemeral: NotRequired[bool | None]
    excludeTurns: NotRequired[bool | None]
    beforeTurnId: NotRequired[str | None]
    lastTurnId: NotRequired[str | None]


class ThreadListParams(TypedDict):
    """Parameters of `thread/list`."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]
    sortKey: NotRequired[
        Literal["created_at", "updated_at", "recency_at", "section_position"] | None
    ]
    sortDirection: NotRequired[SortDirection | None]
    modelProviders: NotRequired[list[str] | None]
    sourceKinds: NotRequired[list[str] | None]
    archived: NotRequired[bool | None]
    cwd: NotRequired[str | list[str] | None]
    searchTerm: NotRequired[str | None]
    sectionId: NotRequired[str | None]
    projectId: NotRequired[str | None]
    parentThreadId: NotRequired[str | None]
    excludedThreadIds: NotRequired[list[str] | None]


class ThreadSearchParams(TypedDict):
    """Parameters of `thread/search`."""

    searchTerm: str
    archived: NotRequired[bool | None]
    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]
    sortDirection: NotRequired[SortDirection | None]
    sourceKinds: NotRequired[list[str] | None]


class ThreadIdParams(TypedDict):
    """The thread alone."""

    threadId: str


class ThreadReadParams(ThreadIdParams):
    """Parameters of `thread/read`."""

    includeTurns: NotRequired[bool | None]


class TurnsListParams(ThreadIdParams, TurnsPageParams):
    """Parameters of `thread/turns/list`."""

    cursor: NotRequired[str | None]


class ItemsListParams(ThreadIdParams):
    """Parameters of `thread/items/list`."""

    turnId: NotRequired[str | None]
    cursor: NotRequired[str | dict[str, object] | None]
    limit: NotRequired[int | None]
    sortDirection: NotRequired[SortDirection | None]


class ItemsReadParams(ThreadIdParams):
    """Parameters of `thread/items/read`."""

    turnId: str
    itemIds: list[str]


class PageParams(TypedDict):
    """A page of a list."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]


class FoldersParams(TypedDict):
    """Folders to look in; the server's own where none is named."""

    cwds: NotRequired[list[str] | None]


class NameParams(ThreadIdParams):
    """Parameters of `thread/name/set`."""

    name: str


class RollbackParams(ThreadIdParams):
    """Parameters of `thread/rollback`; `files` is our own."""

    numTurns: int
    files: NotRequired[bool | None]


class RevertParams(ThreadIdParams):
    """Parameters of `thread/revert`."""

    beforeTurnId: str
    files: NotRequired[bool | None]


class GitInfoParams(TypedDict):
    """What a client knows of the repository."""

    sha: NotRequired[str | None]
    branch: NotRequired[str | None]
    originUrl: NotRequired[str | None]


class MetadataParams(ThreadIdParams):
    """Parameters of `thread/metadata/update`."""

    gitInfo: NotRequired[GitInfoParams | None]


class InjectParams(ThreadIdParams):
    """Parameters of `thread/inject_items`."""

    items: list[dict[str, object]]


class ShellParams(ThreadIdParams):
    """Parameters of `thread/shellCommand`."""

    command: str
    timeoutMs: NotRequired[int | None]


class ReadStateParams(ThreadIdParams):
    """Parameters of `thread/readState/update`."""

    expectedRevision: str
    operation: dict[str, object]


class SettingsParams(ThreadIdParams):
    """What of a thread's settings may be changed."""

    cwd: NotRequired[str | None]
    model: NotRequired[str | None]
    effort: NotRequired[str | None]
    summary: NotRequired[Literal["auto", "concise", "detailed", "none"] | None]
    approvalPolicy: NotRequired[ApprovalPolicy | None]
    approvalsReviewer: NotRequired[str | None]
    sandboxPolicy: NotRequired[Sandbox | None]
    permissions: NotRequired[str | None]
    serviceTier: NotRequired[str | None]
    personality: NotRequired[Literal["none", "friendly", "pragmatic"] | None]
    collaborationMode: NotRequired[dict[str, object] | None]


class TurnStartParams(SettingsParams):
    """Parameters of `turn/start`."""

    input: list[Input]
    outputSchema: NotRequired[object]
    clientUserMessageId: NotRequired[str | None]
    budget: NotRequired[TurnBudget | None]


class TurnSteerParams(ThreadIdParams):
    """Parameters of `turn/steer`."""

    input: list[Input]
    expectedTurnId: str
    clientUserMessageId: NotRequired[str | None]


class TurnInterruptParams(ThreadIdParams):
    """Parameters of `turn/interrupt`."""

    turnId: str
