"""Approval: what is asked, who may answer, and what an answer says. Slot `ferrule.reviewers`."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, NotRequired, Protocol

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ferrule_hookspecs.egress import HostAccess
    from ferrule_hookspecs.events import Event, ServerRequest
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.provider import ModelProvider
    from ferrule_hookspecs.sandbox import Denial
    from ferrule_hookspecs.tools import ToolCall, TurnInfo

Decision = Literal["allow", "ask", "deny"]


class Amendment(NamedTuple):
    """A lasting change of policy that is offered together with a question.

    Attributes:
        kind: command_prefix: commands that begin with these words; network_host: this host;
            mcp_tool: this tool of an MCP server.
        value: The words, or protocol and host, or server and tool.
    """

    kind: Literal["command_prefix", "network_host", "mcp_tool"]
    value: tuple[str, ...]


class Verdict(NamedTuple):
    """An opinion of a plugin on a tool call.

    Attributes:
        decision: allow, ask or deny; combined strictest wins.
        reason: One sentence in plain words.
        rule: What decided, such as a rule's text or a policy's name.
        grants: With allow: a standing approval of the user, so that nobody needs to be asked for
            what the tool or the approval policy would ask for. Only the plugin that `policy_plugin`
            names is believed; it does not override anybody's ask or deny.
        reviewer: With ask: who must answer, whatever reviewer is configured; `user` is a person.
        amendments: With ask: what may be changed for good by whoever accepts.
    """

    decision: Decision
    reason: str = ""
    rule: str = ""
    grants: bool = False
    reviewer: str = ""
    amendments: tuple[Amendment, ...] = ()

    @classmethod
    def deny(cls, reason: str, rule: str = "") -> Verdict:
        """Refuse."""
        return cls("deny", reason, rule)

    @classmethod
    def ask(cls, reason: str, rule: str = "") -> Verdict:
        """Require approval."""
        return cls("ask", reason, rule)

    @classmethod
    def allow(cls, reason: str = "", rule: str = "") -> Verdict:
        """Raise no objection; never overrides somebody else's."""
        return cls("allow", reason, rule)


ReviewDecision = Literal["accept", "acceptForSession", "decline", "cancel"]


class ReviewOutcome(TypedDict):
    """A decision as it is recorded: who, what, by which rule, why, and how long it took in ms."""

    decision: ReviewDecision
    reviewer: str
    reason: str
    rule: NotRequired[str]
    evidence: NotRequired[list[str]]
    latencyMs: NotRequired[int]
    amendment: NotRequired[list[str]]
    """Kind and value of the offered amendment that was accepted."""
    details: NotRequired[dict[str, object]]
    """What else the reviewer found: risk, authorisation, what it used."""
    escalates: NotRequired[bool]
    """With decline: the reviewer leaves the decision to somebody else, a person in the end."""
    failed: NotRequired[bool]
    """With decline: nobody decided, as the answer made no sense; the call fails by it."""
    granted: NotRequired[dict[str, object]]
    """Which of the `permissions` asked for are granted, as clients write them; all without it."""
    errorInfo: NotRequired[str]
    """With cancel: the class of error that the end of the turn is told with."""


class ReviewRequest(NamedTuple):
    """A tool call that needs approval.

    Attributes:
        thread_id: The thread.
        turn_id: The turn.
        call: Byte for byte what will run.
        item: How the call is shown.
        reason: Why approval is needed.
        cwd: Absolute working directory of the turn.
        escalation: Whether approval means running outside the sandbox.
        denial: What the sandbox refused in the first attempt, if that is why.
        verdicts: Opinions of the assessing plugins, by plugin name.
        reviewer: Who must answer; empty for the configured reviewer.
        amendments: What may be changed for good by whoever accepts.
        permissions: What acceptance grants beyond the sandbox; `reason` says it in words.
        lasting: They are granted to the calls that follow, too: `accept` until the turn ends,
            `acceptForSession` for the session.
        details: What may be shown about the call beside the reason. It may come from strangers
            and proves nothing.
        network: The connection that the running call wants to make, if that is what is asked: a
            refusal then ends the connection and not the call.
    """

    thread_id: str
    turn_id: str
    call: ToolCall
    item: ThreadItem | None
    reason: str
    cwd: str
    escalation: bool = False
    denial: Denial | None = None
    verdicts: Mapping[str, Verdict] = MappingProxyType({})
    reviewer: str = ""
    amendments: tuple[Amendment, ...] = ()
    permissions: AdditionalPermissions | None = None
    lasting: bool = False
    details: Mapping[str, object] = MappingProxyType({})
    network: HostAccess | None = None


class ReviewContext(NamedTuple):
    """What a reviewer may use.

    Attributes:
        ask_client: Puts a question to the client and awaits its result; None when no client
            of this session can answer. The question's `id` is filled in by the session.
        reviewer: Returns another reviewer by its name; raises `PluginError` where there is none.
        turn: The turn the call belongs to.
        history: The model's side of the thread so far, the call itself included.
        user_texts: What the user wrote in this thread, oldest first, exactly as it was sent. A
            text of role `user` in the history that is not among these came from elsewhere: from
            project files, from hooks or from the harness.
        provider: Opens a model provider by its name, the session's for an empty one, for requests
            of the reviewer's own. It tries nothing again by itself, and the session closes it.
        emit: Tells the session's clients something.
    """

    ask_client: Callable[[ServerRequest], Awaitable[Mapping[str, object]]] | None = None
    reviewer: Callable[[str], Reviewer] | None = None
    turn: TurnInfo | None = None
    history: Sequence[HistoryItem] = ()
    user_texts: Sequence[str] = ()
    provider: Callable[[str], ModelProvider] | None = None
    emit: Callable[[Event], None] | None = None


class Reviewer(Protocol):
    """Decides about tool calls that need approval.

    A reviewer is constructed with a `PluginContext`, whose `settings` are its table
    `[reviewers.NAME]`, or `[reviewers.NAME.INSTANCE]` where it was asked for as `NAME:INSTANCE`.
    A fault or a timeout counts as decline.
    """

    name: str

    async def review(self, request: ReviewRequest, context: ReviewContext) -> ReviewOutcome:
        """Decide; must not change anything."""
        ...


class ComposedReviewer(Reviewer, Protocol):
    """Asks other reviewers; whether it can is then checked when the session opens.

    Attributes:
        members: Names of all reviewers it may ask.
    """

    members: Sequence[str]
