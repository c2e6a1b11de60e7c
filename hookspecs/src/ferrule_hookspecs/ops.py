"""What clients may ask of a session: app-server v2 requests, without the envelope.

`id` is unique per client and comes back in nothing; it makes an operation traceable.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.change_review import ReviewTarget
from ferrule_hookspecs.items import UserInput
from ferrule_hookspecs.policies import ApprovalPolicy, SandboxPolicy


class TurnBudget(TypedDict):
    """What a turn may spend; None and what is absent bounds nothing."""

    tokens: NotRequired[int | None]
    costUsd: NotRequired[float | None]
    seconds: NotRequired[float | None]
    requests: NotRequired[int | None]


class TurnStartParams(TypedDict):
    """Input for a turn.

    All but `outputSchema`, `clientUserMessageId` and `budget` sticks to the thread. `budget` only
    narrows what is configured.
    """

    threadId: str
    input: list[UserInput]
    model: NotRequired[str | None]
    effort: NotRequired[str | None]
    summary: NotRequired[str | None]
    cwd: NotRequired[str | None]
    approvalPolicy: NotRequired[ApprovalPolicy | None]
    approvalsReviewer: NotRequired[str | None]
    sandboxPolicy: NotRequired[SandboxPolicy | None]
    serviceTier: NotRequired[str | None]
    outputSchema: NotRequired[dict[str, object] | None]
    clientUserMessageId: NotRequired[str | None]
    budget: NotRequired[TurnBudget | None]


class TurnStart(TypedDict):
    """Start a turn; steers the running one where there is one."""

    id: str
    method: Literal["turn/start"]
    params: TurnStartParams


class TurnSteerParams(TypedDict):
    """Input for the running turn."""

    threadId: str
    input: list[UserInput]
    expectedTurnId: NotRequired[str | None]
    clientUserMessageId: NotRequired[str | None]


class TurnSteer(TypedDict):
    """Add input to the running turn."""

    id: str
    method: Literal["turn/steer"]
    params: TurnSteerParams


class SettingsUpdateParams(TypedDict):
    """What is to change for the turns to come; what is absent or None stays.

    A `serviceTier` of None is the account's default, here and in `TurnStartParams`.
    """

    threadId: str
    model: NotRequired[str | None]
    effort: NotRequired[str | None]
    summary: NotRequired[str | None]
    cwd: NotRequired[str | None]
    approvalPolicy: NotRequired[ApprovalPolicy | None]
    approvalsReviewer: NotRequired[str | None]
    sandboxPolicy: NotRequired[SandboxPolicy | None]
    serviceTier: NotRequired[str | None]


class SettingsUpdate(TypedDict):
    """Change what sticks to the thread without starting a turn."""

    id: str
    method: Literal["thread/settings/update"]
    params: SettingsUpdateParams


class TurnInterruptParams(TypedDict):
    """The turn to interrupt; an empty id means whichever runs."""

    threadId: str
    turnId: str
    reason: NotRequired[str]


class TurnInterrupt(TypedDict):
    """Stop the running turn; the history stays well formed."""

    id: str
    method: Literal["turn/interrupt"]
    params: TurnInterruptParams


class ThreadParams(TypedDict):
    """A thread."""

    threadId: str


class CompactStart(TypedDict):
    """Compact the history in a turn of its own."""

    id: str
    method: Literal["thread/compact/start"]
    params: ThreadParams


class ReviewStartParams(TypedDict):
    """What is to be reviewed."""

    threadId: str
    target: ReviewTarget


class ReviewStart(TypedDict):
    """Review changes in a turn of its own; the history then holds what came of it."""

    id: str
    method: Literal["review/start"]
    params: ReviewStartParams


class RollbackParams(TypedDict):
    """How many turns to take back, at least 1; `files` takes those of an overlay back as well."""

    threadId: str
    numTurns: int
    files: NotRequired[bool | None]


class Rollback(TypedDict):
    """Take the last turns out of the history; files stay as they are unless `files` is set."""

    id: str
    method: Literal["thread/rollback"]
    params: RollbackParams


class NameSetParams(TypedDict):
    """A thread's new name."""

    threadId: str
    name: str


class NameSet(TypedDict):
    """Name the thread."""

    id: str
    method: Literal["thread/name/set"]
    params: NameSetParams


class InjectItemsParams(TypedDict):
    """Items of the model's side, in the form of the Responses API."""

    threadId: str
    items: list[dict[str, object]]


class InjectItems(TypedDict):
    """Put items at the end of the history; no turn is started."""

    id: str
    method: Literal["thread/inject_items"]
    params: InjectItemsParams


class ShellCommandParams(TypedDict):
    """A command line of the user's own; `timeoutMs` None means the tool's default."""

    threadId: str
    command: str
    timeoutMs: NotRequired[int | None]


class ShellCommand(TypedDict):
    """Run the user's own command without the sandbox, in the running turn or one of its own."""

    id: str
    method: Literal["thread/shellCommand"]
    params: ShellCommandParams


class AnswerParams(TypedDict):
    """The result a client gives to a question, in the form the question's method defines."""

    threadId: str
    requestId: int
    result: dict[str, object]


class RequestAnswer(TypedDict):
    """Answer a question of the session."""

    id: str
    method: Literal["serverRequest/answer"]
    params: AnswerParams


class Shutdown(TypedDict):
    """End the session; the running turn is interrupted."""

    id: str
    method: Literal["thread/shutdown"]
    params: ThreadParams


Op = (
    TurnStart
    | TurnSteer
    | TurnInterrupt
    | SettingsUpdate
    | NameSet
    | InjectItems
    | ShellCommand
    | CompactStart
    | ReviewStart
    | Rollback
    | RequestAnswer
    | Shutdown
)
