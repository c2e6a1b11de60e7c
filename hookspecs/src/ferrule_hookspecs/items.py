"""The items of a turn: what a user said and what the model and its tools did.

Each item is a `TypedDict` whose JSON is the app-server v2 wire form, so that no layer translates.
An item is started, may stream deltas, and is completed; `id` stays the same throughout.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.change_review import ReviewFindings

ImageDetail = Literal["auto", "low", "high", "original"]


class TextInput(TypedDict):
    """Text a user typed."""

    type: Literal["text"]
    text: str
    text_elements: NotRequired[list[dict[str, object]]]


class ImageInput(TypedDict):
    """An image by URL; `data:` URLs carry the bytes."""

    type: Literal["image"]
    url: str
    detail: NotRequired[ImageDetail | None]


class LocalImageInput(TypedDict):
    """An image file on the machine that runs the kernel."""

    type: Literal["localImage"]
    path: str
    detail: NotRequired[ImageDetail | None]


class SkillInput(TypedDict):
    """A skill the user named."""

    type: Literal["skill"]
    name: str
    path: str


class MentionInput(TypedDict):
    """A file or other resource the user mentioned."""

    type: Literal["mention"]
    name: str
    path: str


UserInput = TextInput | ImageInput | LocalImageInput | SkillInput | MentionInput


class UserMessageItem(TypedDict):
    """A message of the user."""

    type: Literal["userMessage"]
    id: str
    content: list[UserInput]
    clientId: NotRequired[str | None]


class AgentMessageItem(TypedDict):
    """A message of the model."""

    type: Literal["agentMessage"]
    id: str
    text: str
    phase: NotRequired[str | None]


class ReasoningItem(TypedDict):
    """Reasoning the provider disclosed: summary parts and, rarely, raw content."""

    type: Literal["reasoning"]
    id: str
    summary: list[str]
    content: list[str]


class PlanItem(TypedDict):
    """A proposed plan in prose."""

    type: Literal["plan"]
    id: str
    text: str


class ReadAction(TypedDict):
    """The command reads a file."""

    type: Literal["read"]
    command: str
    name: str
    path: str


class ListFilesAction(TypedDict):
    """The command lists files."""

    type: Literal["listFiles"]
    command: str
    path: NotRequired[str | None]


class SearchAction(TypedDict):
    """The command searches text."""

    type: Literal["search"]
    command: str
    query: NotRequired[str | None]
    path: NotRequired[str | None]


class UnknownAction(TypedDict):
    """Anything else."""

    type: Literal["unknown"]
    command: str


CommandAction = ReadAction | ListFilesAction | SearchAction | UnknownAction
ItemStatus = Literal["inProgress", "completed", "failed", "declined"]
CommandSource = Literal["agent", "userShell", "unifiedExecStartup", "unifiedExecInteraction"]


class CommandExecutionItem(TypedDict):
    """A command that was, is or was refused to be run; `durationMs` in milliseconds."""

    type: Literal["commandExecution"]
    id: str
    command: str
    cwd: str
    commandActions: list[CommandAction]
    status: ItemStatus
    source: NotRequired[CommandSource]
    processId: NotRequired[str | None]
    aggregatedOutput: NotRequired[str | None]
    exitCode: NotRequired[int | None]
    durationMs: NotRequired[int | None]


class AddKind(TypedDict):
    """The file is new; `diff` is its whole text."""

    type: Literal["add"]


class DeleteKind(TypedDict):
    """The file goes; `diff` is its whole former text."""

    type: Literal["delete"]


class UpdateKind(TypedDict):
    """The file changes, and perhaps moves; `diff` holds unified hunks."""

    type: Literal["update"]
    move_path: NotRequired[str | None]


PatchChangeKind = AddKind | DeleteKind | UpdateKind


class FileUpdateChange(TypedDict):
    """One file of a patch; `path` is absolute."""

    path: str
    kind: PatchChangeKind
    diff: str


class FileChangeItem(TypedDict):
    """A patch to files."""

    type: Literal["fileChange"]
    id: str
    changes: list[FileUpdateChange]
    status: ItemStatus


class McpToolCallError(TypedDict):
    """Why an MCP call failed."""

    message: str


class McpToolCallResult(TypedDict):
    """What an MCP server answered."""

    content: list[object]
    structuredContent: NotRequired[object]


class McpToolCallItem(TypedDict):
    """A call of a tool of an MCP server."""

    type: Literal["mcpToolCall"]
    id: str
    server: str
    tool: str
    arguments: object
    status: ItemStatus
    result: NotRequired[McpToolCallResult | None]
    error: NotRequired[McpToolCallError | None]
    durationMs: NotRequired[int | None]


class InputTextContent(TypedDict):
    """Text in a tool's answer."""

    type: Literal["inputText"]
    text: str


class InputImageContent(TypedDict):
    """An image in a tool's answer; usually a `data:` URL."""

    type: Literal["inputImage"]
    imageUrl: str


ToolContent = InputTextContent | InputImageContent


class DynamicToolCallItem(TypedDict):
    """A call of any tool that has no item type of its own, rejected and unknown ones included."""

    type: Literal["dynamicToolCall"]
    id: str
    tool: str
    arguments: object
    status: ItemStatus
    namespace: NotRequired[str | None]
    contentItems: NotRequired[list[ToolContent] | None]
    success: NotRequired[bool | None]
    durationMs: NotRequired[int | None]


class CollabAgentState(TypedDict):
    """How one subagent stands."""

    status: str
    message: NotRequired[str | None]


class CollabAgentToolCallItem(TypedDict):
    """A call that starts, feeds, awaits or ends a subagent."""

    type: Literal["collabAgentToolCall"]
    id: str
    tool: str
    senderThreadId: str
    receiverThreadIds: list[str]
    agentsStates: dict[str, CollabAgentState]
    status: ItemStatus
    prompt: NotRequired[str | None]
    model: NotRequired[str | None]
    reasoningEffort: NotRequired[str | None]


class WebSearchItem(TypedDict):
    """A search the provider ran."""

    type: Literal["webSearch"]
    id: str
    query: str
    action: NotRequired[dict[str, object] | None]


class ImageViewItem(TypedDict):
    """The model looked at an image file."""

    type: Literal["imageView"]
    id: str
    path: str


class EnteredReviewItem(TypedDict):
    """A review began."""

    type: Literal["enteredReviewMode"]
    id: str
    review: str


class ExitedReviewItem(TypedDict):
    """A review ended; without findings where it came to none."""

    type: Literal["exitedReviewMode"]
    id: str
    review: str
    findings: NotRequired[ReviewFindings]


class ContextCompactionItem(TypedDict):
    """The history was compacted here; `status` and `error` tell of one that kept it as it was."""

    type: Literal["contextCompaction"]
    id: str
    status: NotRequired[ItemStatus]
    error: NotRequired[str]


class HookPromptFragment(TypedDict):
    """Text a hook put before the model."""

    text: str
    hookRunId: str


class HookPromptItem(TypedDict):
    """What hooks put before the model."""

    type: Literal["hookPrompt"]
    id: str
    fragments: list[HookPromptFragment]


ThreadItem = (
    UserMessageItem
    | AgentMessageItem
    | ReasoningItem
    | PlanItem
    | CommandExecutionItem
    | FileChangeItem
    | McpToolCallItem
    | DynamicToolCallItem
    | CollabAgentToolCallItem
    | WebSearchItem
    | ImageViewItem
    | EnteredReviewItem
    | ExitedReviewItem
    | ContextCompactionItem
    | HookPromptItem
)
