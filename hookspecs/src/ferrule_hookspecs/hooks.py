"""The hooks of Ferrule: where the kernel calls every plugin that wants to be called.

Sections: what plugins offer, opinions on tool calls, the life of a session. An implementation may
be a plain function or a coroutine function, and may leave out arguments it does not need.
A plain function runs in a worker thread, so it must not touch the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ferrule_hookspecs.markers import hook_contract

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.change_review import ReviewRefusal, ReviewTarget, ReviewTask
    from ferrule_hookspecs.egress import Egress
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelRequest
    from ferrule_hookspecs.recipes import Recipe
    from ferrule_hookspecs.review import Amendment, ReviewRequest, Verdict
    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_hookspecs.serving import RpcMethod
    from ferrule_hookspecs.threads import TokenUsage, Turn, TurnError
    from ferrule_hookspecs.tools import Tool, ToolCall, ToolResult, TurnInfo
    from ferrule_hookspecs.workspace_view import WorkspaceView


class ContextFragment(NamedTuple):
    """Text put before the model at the start of a session.

    Attributes:
        text: The text.
        role: developer for instructions, user for facts.
        order: Fragments are sorted by this number, then by plugin name.
        source: The file it was read from, or the files, which clients show; empty where none is.
        key: What it is called where its plugin tells changes of it; empty where it does not.
        state: How it is now, for its plugin to compare with later; kept with the thread.
    """

    text: str
    role: Literal["developer", "user"] = "developer"
    order: int = 100
    source: str | Sequence[str] = ""
    key: str = ""
    state: str = ""


class ContextUpdate(NamedTuple):
    """What changed of something that was put before the model.

    Attributes:
        key: What it is; unique, such as agents_md.
        state: How it is now; it comes back in `told`. Empty for what is not there any more.
        text: What the model reads, a short note; empty where it need not know.
        role: developer for instructions, user for facts.
    """

    key: str
    state: str
    text: str = ""
    role: Literal["developer", "user"] = "developer"


class PromptReply(NamedTuple):
    """An answer to a submitted prompt: refuse it, or add context for the model.

    Attributes:
        block_reason: Why it is refused.
        context: What the model reads behind it.
        role: developer for instructions, user for what the user asked to be there.
    """

    block_reason: str | None = None
    context: str | None = None
    role: Literal["developer", "user"] = "developer"


class OutputReply(NamedTuple):
    """An answer to what a tool call gave.

    Attributes:
        replacement: What the model reads instead; None leaves the output as it is.
        context: A note for the model that follows the output.
    """

    replacement: str | None = None
    context: str | None = None


class Continue(NamedTuple):
    """Asks the turn to go on: `prompt` is put before the model."""

    prompt: str


class Notification(NamedTuple):
    """Something a person who is looking elsewhere may want to know.

    Attributes:
        kind: What happened.
        thread_id: The thread.
        turn_id: The turn.
        cwd: Absolute working directory of the turn.
        input_messages: What the user sent in this turn, in order.
        last_message: The model's last message, if the turn is complete and has one.
        source: The front end: exec, cli, appServer, mcp …
    """

    kind: Literal["turn_complete", "approval_needed"]
    thread_id: str
    turn_id: str
    cwd: str
    input_messages: tuple[str, ...] = ()
    last_message: str | None = None
    source: str = "exec"


class Check(NamedTuple):
    """One thing `ferrule doctor` looked at.

    Attributes:
        id: Unique and stable: `category.what`, such as `git.version`.
        status: fail breaks something now; warn may; skip was not applicable.
        detail: What was found, one sentence.
        mend: What to do about it; empty where nothing is to be done.
    """

    id: str
    status: Literal["ok", "warn", "fail", "skip"]
    detail: str
    mend: str = ""


# --- What plugins offer ---------------------------------------------------------------------


@hook_contract("gather", timeout_s=10.0)
def ferrule_tools(context: PluginContext) -> Sequence[Tool] | None:
    """Offer tools that are only known at run time.

    When: once per session, before the first request, and between two turns when the plugin was
        loaded anew or `mcp_servers` has changed; tools with fixed names belong in the group
        `ferrule.tools` instead, which costs nothing until they are used.
    Args: ``context`` is the session's, frozen.
    Returns: tools, or None; all are gathered. A name that is taken already is dropped and reported.
    Errors: the plugin's tools are left out, the fault is reported once.
    Timeout: 10 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=5.0)
def ferrule_context_fragments(context: PluginContext) -> Sequence[ContextFragment] | None:
    """Put text before the model at the start of a session.

    When: once per session, before the first request; of a session that goes on with a stored
        thread only the sources count, the model has its text already.
    Args: ``context`` is the session's, frozen.
    Returns: fragments, or None; all are gathered and sorted by ``order``, then plugin name.
    Errors: the plugin's fragments are left out, the fault is reported once.
    Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=5.0)
def ferrule_context_updates(
    context: PluginContext, told: Mapping[str, str]
) -> Sequence[ContextUpdate] | None:
    """Tell the model what changed of what it was told, in a note at the end of the conversation.

    When: once at the beginning of every turn, and after a compaction.
    Args: ``context`` is the session's, its ``cwd`` the turn's; ``told`` holds the last state of
        every key, also over a resume or fork, and what the thread began with after a compaction.
    Returns: updates, or None where nothing changed; all are gathered, in declared order.
    Errors: the plugin's updates are left out, the fault is reported once.
    Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=5.0)
def ferrule_models(context: PluginContext, model: str | None) -> Sequence[ModelInfo] | None:
    """Tell what is known about models.

    When: when a session settles on a model, and when models are listed.
    Args: ``model`` is the name that matters; None asks for every model known.
    Returns: facts, or None; all are gathered, and of several about one model the first counts.
    Errors: the plugin's facts are left out, the fault is reported once.
    Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=20.0)
def ferrule_checks(context: PluginContext) -> Sequence[Check] | None:
    """Examine the machine for `ferrule doctor`; nothing may be changed.

    When: when a user asks for it, outside of any thread.
    Args: ``context`` is frozen; its ``thread_id`` is empty.
    Returns: checks, or None; all are gathered and sorted by ``id``.
    Errors: the fault becomes a failed check that names the plugin.
    Timeout: 20 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=5.0)
def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod] | None:
    """Add methods to servers that speak JSON-RPC, such as the app-server.

    When: once per server, when it is opened, outside of any thread.
    Args: ``context`` is frozen; its ``thread_id`` is empty.
    Returns: methods, or None; all are gathered. A name that is taken already is dropped and
        reported.
    Errors: the plugin's methods are left out, the fault is reported once.
    Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=5.0)
def ferrule_recipes(context: PluginContext) -> Sequence[Recipe] | None:
    """Offer recipes: what programs need of the sandbox, each under a name.

    When: once per session whose configuration names any, before its first command, and when
        recipes are listed or a command in the sandbox is explained.
    Args: ``context`` is frozen; its ``thread_id`` is empty outside of a session.
    Returns: recipes, or None; all are gathered. A name that two plugins offer cannot be used.
    Errors: the plugin's recipes are left out, the fault is reported once.
    Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=20.0)
def ferrule_egress(context: PluginContext) -> Egress | None:
    """Offer a managed network to commands whose sandbox has none.

    When: once per session, before the first confined command without network, and only where
        `[network] enabled` says that commands may use one.
    Args: ``context`` is the session's, frozen.
    Returns: the network, or None. Two plugins answering is a fault: commands then have none.
    Errors: commands have no network, the fault is reported once.
    Timeout: 20 s. Async: yes. Added in 0.1.
    """


@hook_contract("rewrite", timeout_s=300.0)
def ferrule_workspace_view(context: PluginContext, policy: ResolvedPolicy) -> WorkspaceView | None:
    """Have a session see something else in place of the real files.

    When: once per session, before its first command: where `overlay = true`, and with every thread
        that is resumed.
    Args: ``context`` is the session's; ``policy`` is what the mode workspace-write would mean, its
        folders for temporary files left out; frozen.
    Returns: the view, or None. Two plugins answering refuse the session.
    Errors: an exception counts as a refusal of the session and names the plugin.
    Timeout: 300 s, then as an exception. Async: yes. Added in 0.1.
    """


@hook_contract("rewrite", timeout_s=60.0)
def ferrule_review_task(
    target: ReviewTarget, context: PluginContext
) -> ReviewTask | ReviewRefusal | None:
    """Say how changes are reviewed, once somebody asks for a review.

    When: once per `review/start`, before its turn begins.
    Args: ``target`` is what is to be reviewed, ``context`` is the session's; frozen.
    Returns: the task; or a refusal, whose sentence the user reads; or None. Two plugins answering
        refuse the review.
    Errors: an exception counts as a refusal of the review and names the plugin.
    Timeout: 60 s, then as an exception. Async: yes. Added in 0.1.
    """


# --- Opinions on tool calls -----------------------------------------------------------------


@hook_contract("rewrite", timeout_s=5.0)
def ferrule_tool_rewrite(call: ToolCall, turn: TurnInfo) -> ToolCall | None:
    """Replace a call by an equivalent one of another tool.

    When: once per call, while it is normalised; what follows sees only the replacement.
    Args: ``call`` and ``turn`` are frozen.
    Returns: the replacement, or None. Two plugins answering deny the call.
    Errors: an exception denies the call and names the plugin.
    Timeout: 5 s, then as an exception. Async: yes. Added in 0.1.
    """


@hook_contract("assess", timeout_s=5.0)
def ferrule_tool_before(call: ToolCall, turn: TurnInfo, context: PluginContext) -> Verdict | None:
    """Judge a tool call before it runs.

    When: once per call, after arguments are normalised, before review and sandboxing.
    Args: ``call`` is exactly what will run, ``context`` is the session's; frozen.
    Returns: None for no opinion. Verdicts combine: the most restrictive wins, order never matters.
    Errors: an exception counts as ``Verdict.deny`` and names the plugin.
    Timeout: 5 s, then as an exception. Async: yes. Added in 0.1.
    """


@hook_contract("observe", timeout_s=10.0)
def ferrule_amendment(amendment: Amendment, context: PluginContext) -> None:
    """Keep a change of policy that a reviewer accepted, so that it holds from now on.

    When: after a call was accepted together with an amendment that was offered for it.
    Args: ``amendment`` is one of those offered, and ``context`` is the session's; both frozen.
    Returns: nothing.
    Errors: reported once; the call itself goes on.
    Timeout: 10 s. Async: yes. Added in 0.1.
    """


@hook_contract("assess", timeout_s=30.0)
def ferrule_permission_request(request: ReviewRequest, turn: TurnInfo) -> Verdict | None:
    """Judge a request for approval before the reviewer sees it.

    When: once per request for approval, escalations included.
    Args: ``request`` is what the reviewer would see; frozen.
    Returns: None or ask leave it to the reviewer; deny refuses; allow raises no objection and
        never replaces the reviewer. The most restrictive wins.
    Errors: an exception counts as deny and names the plugin.
    Timeout: 30 s, then as an exception. Async: yes. Added in 0.1.
    """


# --- The life of a session ------------------------------------------------------------------


@hook_contract("observe")
def ferrule_session_start(context: PluginContext, source: str) -> None:
    """Learn that a session was opened.

    When: once per session, before its first turn; ``source`` is startup, resume or fork. Once
        more, with ``source`` reload, between two turns, when the plugin itself was loaded anew or
        is configured otherwise.
    Args: ``context`` is the session's, frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_session_end(context: PluginContext, reason: str) -> None:
    """Learn that a session ends.

    When: once per session, after its last turn, before its children are ended.
    Args: ``context`` is the session's; ``reason`` is closed or interrupted, or reload where the
        session goes on and `ferrule_session_start` follows, in the plugin's new text if it has one.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=30.0)
def ferrule_prompt_submit(prompt: Sequence[UserInput], turn: TurnInfo) -> PromptReply | None:
    """See a user's input before the model does.

    When: once per input, steering included.
    Args: ``prompt`` is what the user sent; not to be changed.
    Returns: None, or a reply; any ``block_reason`` refuses the input, every ``context`` is added.
    Errors: the plugin's reply is left out, the fault is reported once.
    Timeout: 30 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_turn_start(turn: TurnInfo) -> None:
    """Learn that a turn began.

    When: once per turn, before its first request.
    Args: ``turn`` is frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_turn_end(turn: TurnInfo, outcome: Turn) -> None:
    """Learn how a turn ended.

    When: once per turn, after its last record is stored.
    Args: ``outcome`` holds status and error; not to be changed.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_request_before(request: ModelRequest, turn: TurnInfo) -> None:
    """See a model request before it is sent.

    When: once per request, retries not counted.
    Args: ``request`` is frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_request_after(
    request: ModelRequest,
    items: Sequence[HistoryItem],
    usage: TokenUsage | None,
    error: TurnError | None,
    turn: TurnInfo,
) -> None:
    """See what a model request gave.

    When: once per request, after its stream ended or failed for good.
    Args: ``items`` is what the model produced; not to be changed.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=30.0)
def ferrule_tool_output(
    call: ToolCall, result: ToolResult, failure: str | None, turn: TurnInfo
) -> OutputReply | None:
    """Replace what the model reads of a tool call, or add a note to it.

    When: once per call, after it ended and before the model reads its output.
    Args: ``call`` is what ran and ``result`` what it gave; ``failure`` is why it did not run to a
        result, None where it did; frozen.
    Returns: None, or a reply; replacements are put one after the other, in declared order, and
        every ``context`` is added after the outputs of the response.
    Errors: the plugin's reply is left out, the fault is reported once.
    Timeout: 30 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_tool_after(call: ToolCall, result: ToolResult, turn: TurnInfo) -> None:
    """Learn what a tool call gave.

    When: once per call that ran, whatever its success.
    Args: ``call`` is what ran, ``result`` what the model will read; frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_tool_failure(call: ToolCall, reason: str, turn: TurnInfo) -> None:
    """Learn that a tool call was refused or raised.

    When: once per call that did not run to a result.
    Args: ``reason`` is what the model will read.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("assess", timeout_s=10.0)
def ferrule_compact_before(turn: TurnInfo, reason: str) -> Verdict | None:
    """Judge whether the history may be compacted now.

    When: once per compaction; ``reason`` is manual, auto or overflow.
    Args: frozen.
    Returns: None or a verdict; deny keeps the history as it is.
    Errors: an exception counts as deny. Timeout: 10 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=10.0)
def ferrule_turn_diff(turn: TurnInfo, context: PluginContext) -> str | None:
    """Tell what changed in the workspace since the first time it was called for the turn.

    When: in sessions that want it, before the first call that may change something, which marks
        the beginning, after each such call, and before the turn ends.
    Args: ``turn`` and ``context``, which is the session's, are frozen.
    Returns: a unified diff of everything, whoever changed it, empty where nothing changed; None
        where the plugin cannot tell. Of several the first in declared order counts.
    Errors: the plugin's answer is left out, the fault is reported once.
    Timeout: 10 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_compact_after(turn: TurnInfo, summary: str) -> None:
    """Learn that the history was compacted.

    When: once per compaction, after the new history is stored.
    Args: ``summary`` is the compactor's text.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_subagent_start(context: PluginContext, parent_thread_id: str) -> None:
    """Learn that a thread was started by another one.

    When: once per such thread, after `ferrule_session_start`.
    Args: ``context`` is the new session's, frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe")
def ferrule_subagent_stop(context: PluginContext, parent_thread_id: str) -> None:
    """Learn that a thread that was started by another one ends.

    When: once per such thread, before `ferrule_session_end`.
    Args: ``context`` is the ending session's, frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 5 s. Async: yes. Added in 0.1.
    """


@hook_contract("gather", timeout_s=30.0)
def ferrule_turn_stop(turn: TurnInfo, last_message: str | None) -> Continue | None:
    """Let a turn end, or ask it to go on.

    When: each time the model stops asking for tools; at most 8 times in a row per turn.
    Args: ``last_message`` is the model's last message.
    Returns: None, or what to put before the model; all prompts are added, in declared order.
    Errors: the plugin's answer is left out, the fault is reported once.
    Timeout: 30 s. Async: yes. Added in 0.1.
    """


@hook_contract("observe", timeout_s=10.0)
def ferrule_notify(notification: Notification, context: PluginContext) -> None:
    """Tell a person who is looking elsewhere.

    When: when a turn is complete, and when an approval is needed.
    Args: ``notification`` is frozen; ``context`` is the session's, frozen.
    Returns: nothing.
    Errors: reported once. Timeout: 10 s. Async: yes. Added in 0.1.
    """
