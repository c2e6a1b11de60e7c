"""What a session tells its clients: notifications and questions, in app-server v2 wire form.

An event *is* the JSON-RPC notification a client receives, without the envelope a transport adds.
Deltas may be coalesced for a slow reader; starts, completions and questions never are.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.decisions import AutoReviewCompleted, AutoReviewStarted, DecisionMade
from ferrule_hookspecs.goals import GoalCleared, GoalUpdated
from ferrule_hookspecs.hook_runs import HookCompleted, HookStarted
from ferrule_hookspecs.items import CommandAction, ThreadItem
from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy
from ferrule_hookspecs.threads import Thread, ThreadStatus, ThreadTokenUsage, Turn, TurnError


class ThreadStartedParams(TypedDict):
    """The thread that is ready."""

    thread: Thread


class ThreadStarted(TypedDict):
    """A thread was started, resumed or forked, and accepts operations."""

    method: Literal["thread/started"]
    params: ThreadStartedParams


class ThreadStatusParams(TypedDict):
    """The new status."""

    threadId: str
    status: ThreadStatus


class ThreadStatusChanged(TypedDict):
    """A thread became idle or active."""

    method: Literal["thread/status/changed"]
    params: ThreadStatusParams


class ThreadClosedParams(TypedDict):
    """The thread that closed."""

    threadId: str


class ThreadClosed(TypedDict):
    """The last event of a session."""

    method: Literal["thread/closed"]
    params: ThreadClosedParams


class TurnParams(TypedDict):
    """A turn of a thread."""

    threadId: str
    turn: Turn


class TurnStarted(TypedDict):
    """A turn began."""

    method: Literal["turn/started"]
    params: TurnParams


class TurnCompleted(TypedDict):
    """A turn ended: completed, interrupted or failed."""

    method: Literal["turn/completed"]
    params: TurnParams


class ItemStartedParams(TypedDict):
    """An item and when it started, in Unix milliseconds."""

    threadId: str
    turnId: str
    item: ThreadItem
    startedAtMs: int


class ItemStarted(TypedDict):
    """An item began; deltas may follow."""

    method: Literal["item/started"]
    params: ItemStartedParams


class ItemCompletedParams(TypedDict):
    """An item in its final form and when it was completed, in Unix milliseconds."""

    threadId: str
    turnId: str
    item: ThreadItem
    completedAtMs: int


class ItemCompleted(TypedDict):
    """An item is final."""

    method: Literal["item/completed"]
    params: ItemCompletedParams


class DeltaParams(TypedDict):
    """A piece of an item's text, in order. `summaryIndex` names the part of a reasoning summary."""

    threadId: str
    turnId: str
    itemId: str
    delta: str
    summaryIndex: NotRequired[int]


class ItemDelta(TypedDict):
    """A piece of a running item."""

    method: Literal[
        "item/agentMessage/delta",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/textDelta",
        "item/commandExecution/outputDelta",
    ]
    params: DeltaParams


class SummaryPartParams(TypedDict):
    """A part of a reasoning summary, by its number from 0."""

    threadId: str
    turnId: str
    itemId: str
    summaryIndex: int


class SummaryPartAdded(TypedDict):
    """Another part of a reasoning summary begins; its text follows."""

    method: Literal["item/reasoning/summaryPartAdded"]
    params: SummaryPartParams


class TerminalInteractionParams(TypedDict):
    """What was typed into a running command."""

    threadId: str
    turnId: str
    itemId: str
    processId: str
    stdin: str


class TerminalInteraction(TypedDict):
    """The model typed into a running command."""

    method: Literal["item/commandExecution/terminalInteraction"]
    params: TerminalInteractionParams


class PlanStep(TypedDict):
    """A step of the plan."""

    step: str
    status: Literal["pending", "inProgress", "completed"]


class PlanUpdatedParams(TypedDict):
    """The whole plan as it now stands."""

    threadId: str
    turnId: str
    explanation: str | None
    plan: list[PlanStep]


class PlanUpdated(TypedDict):
    """The model changed its plan."""

    method: Literal["turn/plan/updated"]
    params: PlanUpdatedParams


class TokenUsageParams(TypedDict):
    """Usage so far."""

    threadId: str
    turnId: str
    tokenUsage: ThreadTokenUsage


class TokenUsageUpdated(TypedDict):
    """The provider reported usage."""

    method: Literal["thread/tokenUsage/updated"]
    params: TokenUsageParams


class DiffUpdatedParams(TypedDict):
    """A unified diff of everything that changed in the workspace since the turn began."""

    threadId: str
    turnId: str
    diff: str


class DiffUpdated(TypedDict):
    """The workspace changed, whoever changed it."""

    method: Literal["turn/diff/updated"]
    params: DiffUpdatedParams


class ThreadSettings(TypedDict):
    """What sticks to a thread."""

    model: str
    modelProvider: str
    cwd: str
    approvalPolicy: ApprovalPolicy
    approvalsReviewer: str
    sandboxPolicy: SandboxPolicy
    effort: str | None
    summary: str | None
    serviceTier: str | None
    collaborationMode: NotRequired[dict[str, object]]


class SettingsUpdatedParams(TypedDict):
    """The settings as they are from now on."""

    threadId: str
    threadSettings: ThreadSettings


class SettingsUpdated(TypedDict):
    """What sticks to the thread was changed."""

    method: Literal["thread/settings/updated"]
    params: SettingsUpdatedParams


class NameUpdatedParams(TypedDict):
    """A thread's new name."""

    threadId: str
    threadName: str | None


class NameUpdated(TypedDict):
    """The thread was named."""

    method: Literal["thread/name/updated"]
    params: NameUpdatedParams


class ProgressParams(TypedDict):
    """What a server says of a call that goes on."""

    threadId: str
    turnId: str
    itemId: str
    message: str


class McpProgress(TypedDict):
    """An MCP call made progress."""

    method: Literal["item/mcpToolCall/progress"]
    params: ProgressParams


class McpStartupParams(TypedDict):
    """How the start of an MCP server goes."""

    threadId: str
    name: str
    status: Literal["starting", "ready", "failed", "cancelled"]
    error: str | None
    failureReason: NotRequired[None]


class McpStartup(TypedDict):
    """An MCP server is being started, was started, or could not be."""

    method: Literal["mcpServer/startupStatus/updated"]
    params: McpStartupParams


class ErrorParams(TypedDict):
    """An error of a turn; `willRetry` tells whether the session goes on by itself."""

    threadId: str
    turnId: str
    error: TurnError
    willRetry: bool


class ErrorEvent(TypedDict):
    """Something went wrong with a turn."""

    method: Literal["error"]
    params: ErrorParams


class WarningParams(TypedDict):
    """A message a user should see."""

    threadId: str | None
    message: str


class Warning(TypedDict):
    """Something a user should know that does not stop the turn."""

    method: Literal["warning"]
    params: WarningParams


class RequestResolvedParams(TypedDict):
    """The question that needs no answer any more."""

    threadId: str
    requestId: int


class RequestResolved(TypedDict):
    """A question was answered or withdrawn."""

    method: Literal["serverRequest/resolved"]
    params: RequestResolvedParams


Event = (
    ThreadStarted
    | ThreadStatusChanged
    | ThreadClosed
    | TurnStarted
    | TurnCompleted
    | ItemStarted
    | ItemCompleted
    | ItemDelta
    | SummaryPartAdded
    | TerminalInteraction
    | PlanUpdated
    | GoalUpdated
    | GoalCleared
    | DiffUpdated
    | SettingsUpdated
    | NameUpdated
    | McpProgress
    | McpStartup
    | TokenUsageUpdated
    | ErrorEvent
    | Warning
    | DecisionMade
    | AutoReviewStarted
    | AutoReviewCompleted
    | RequestResolved
    | HookStarted
    | HookCompleted
)


class NetworkOnWire(TypedDict):
    """Whether the network is granted."""

    enabled: NotRequired[bool | None]


class FilesOnWire(TypedDict):
    """Which files are granted, by absolute path."""

    read: NotRequired[list[str] | None]
    write: NotRequired[list[str] | None]


class PermissionsOnWire(TypedDict):
    """What acceptance grants beyond the sandbox."""

    network: NotRequired[NetworkOnWire | None]
    fileSystem: NotRequired[FilesOnWire | None]


class NetworkApprovalContext(TypedDict):
    """The connection that a running command waits for."""

    host: str
    protocol: Literal["http", "https", "socks5Tcp", "socks5Udp"]


class AskingAgent(TypedDict):
    """Who asks, where it is not the root: a thread that works for others, the root's id first."""

    threadId: str
    nickname: str | None
    role: str | None
    lineage: list[str]


class CommandApprovalParams(TypedDict):
    """A command that waits for approval."""

    threadId: str
    turnId: str
    itemId: str
    startedAtMs: int
    command: NotRequired[str | None]
    cwd: NotRequired[str | None]
    commandActions: NotRequired[list[CommandAction] | None]
    reason: NotRequired[str | None]
    approvalId: NotRequired[str | None]
    networkApprovalContext: NotRequired[NetworkApprovalContext | None]
    additionalPermissions: NotRequired[PermissionsOnWire | None]
    proposedExecpolicyAmendment: NotRequired[list[str] | None]
    availableDecisions: NotRequired[list[object] | None]
    agent: NotRequired[AskingAgent]


class CommandApproval(TypedDict):
    """May this command run?"""

    id: int
    method: Literal["item/commandExecution/requestApproval"]
    params: CommandApprovalParams


class FileChangeApprovalParams(TypedDict):
    """A patch that waits for approval; its diff is in the item that was started before."""

    threadId: str
    turnId: str
    itemId: str
    startedAtMs: int
    reason: NotRequired[str | None]
    grantRoot: NotRequired[str | None]
    agent: NotRequired[AskingAgent]


class FileChangeApproval(TypedDict):
    """May this patch be applied?"""

    id: int
    method: Literal["item/fileChange/requestApproval"]
    params: FileChangeApprovalParams


class PermissionsApprovalParams(TypedDict):
    """Permissions for the calls that follow, beyond the sandbox."""

    threadId: str
    turnId: str
    itemId: str
    startedAtMs: int
    cwd: str
    permissions: PermissionsOnWire
    reason: NotRequired[str | None]
    agent: NotRequired[AskingAgent]


class PermissionsApproval(TypedDict):
    """May this be granted? The result names what is, and for how long."""

    id: int
    method: Literal["item/permissions/requestApproval"]
    params: PermissionsApprovalParams


class QuestionOption(TypedDict):
    """An answer that is offered."""

    label: str
    description: str


class UserQuestion(TypedDict):
    """A question with answers to choose from; `isOther` allows any text."""

    id: str
    header: str
    question: str
    isOther: bool
    isSecret: bool
    options: NotRequired[list[QuestionOption] | None]


class UserInputParams(TypedDict):
    """Questions of the model to the user; after `autoResolutionMs` they are withdrawn."""

    threadId: str
    turnId: str
    itemId: str
    questions: list[UserQuestion]
    isBlocking: bool
    autoResolutionMs: NotRequired[int | None]
    agent: NotRequired[AskingAgent]


class UserInputRequest(TypedDict):
    """Ask the user; the result is `{"answers": {id: {"answers": [text]}}}`."""

    id: int
    method: Literal["item/tool/requestUserInput"]
    params: UserInputParams


class ElicitationParams(TypedDict):
    """What an MCP server, or a call of one of its tools, asks of the user."""

    threadId: str
    turnId: str | None
    serverName: str
    mode: Literal["form", "url"]
    message: str
    requestedSchema: NotRequired[dict[str, object]]
    url: NotRequired[str]
    elicitationId: NotRequired[str]
    _meta: NotRequired[dict[str, object] | None]
    agent: NotRequired[AskingAgent]


class Elicitation(TypedDict):
    """Ask the user; the result is `{"action": "accept" | "decline" | "cancel", "content"?}`."""

    id: int
    method: Literal["mcpServer/elicitation/request"]
    params: ElicitationParams


class ClientToolParams(TypedDict):
    """A call of a tool that the client runs."""

    threadId: str
    turnId: str
    callId: str
    tool: str
    arguments: object
    namespace: NotRequired[str | None]


class ClientToolCall(TypedDict):
    """Run a tool of the client; the result is `{"contentItems": […], "success": bool}`."""

    id: int
    method: Literal["item/tool/call"]
    params: ClientToolParams


ServerRequest = (
    CommandApproval
    | FileChangeApproval
    | PermissionsApproval
    | UserInputRequest
    | Elicitation
    | ClientToolCall
)
"""A question a client must answer with the operation `serverRequest/answer`."""

Outgoing = Event | ServerRequest
