"""The only path from a tool call to an effect.

Phases: requirement (the tool's own answer, the assessing plugins and the approval policy; the
strictest wins), review, an attempt in the sandbox, and, where the sandbox itself refused and the
policy allows asking, a second review and one attempt without it. Every decision is an event.
"""

from __future__ import annotations

import time
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import anyio

from ferrule.approval_question import (
    ACCEPTING,
    ApprovalFailedError,
    CallRefusedError,
    Phase,
    Question,
    TurnCancelledError,
    accepted_part,
    cancellation,
    refused_words,
)
from ferrule.approvals import policy_name
from ferrule.attempt import BoundSandbox, CallContext, confined, escalated
from ferrule.call_parsing import function_arguments
from ferrule.ceiling import ruled_within, sandbox_policies
from ferrule.containment import contained
from ferrule.dispatcher import strictest
from ferrule.network_approval import Asking, NetworkApproval
from ferrule.permissions import NOTHING, missing, objection
from ferrule.policy import policy_mode
from ferrule.remote_tool import normalized, required, shown
from ferrule.reviewers import reviewed
from ferrule.turn_settings import check_allowed
from ferrule_hookspecs.errors import ConfigError, FerruleError, PluginError, ToolError
from ferrule_hookspecs.hooks import Notification, OutputReply
from ferrule_hookspecs.review import (
    ReviewContext,
    ReviewOutcome,
    ReviewRequest,
    Verdict,
)
from ferrule_hookspecs.ruling import Case
from ferrule_hookspecs.tools import Requirement, SandboxDeniedError, Tool, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule.conversation import Conversation
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.decisions import DecisionFacts
    from ferrule_hookspecs.items import DynamicToolCallItem, ThreadItem
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.policies import SandboxMode
    from ferrule_hookspecs.ruling import Ruling


class Outcome(NamedTuple):
    """How a call ended; `failure` is why it did not run to a result."""

    call: ToolCall
    result: ToolResult
    failure: str | None


class Orchestrator:
    """Runs the calls of one turn."""

    def __init__(self, parts: SessionParts, turn_id: str, conversation: Conversation) -> None:
        self._parts = parts
        self._turn_id = turn_id
        self._conversation = conversation
        self._info = parts.turn_info(turn_id)
        self._facts: dict[str, DecisionFacts] = {}

    async def run(self, call: ToolCall) -> Outcome:
        """Take a normalised call through all phases.

        Raises:
            TurnCancelledError: A reviewer ended the turn.
        """
        parts = self._parts
        try:
            with contained(call.tool):
                call = await normalized(parts.tools[call.tool], call)
        except FerruleError as error:
            self._decided(call, "requirement", refusal(str(error), "arguments"))
            return self._ended(call, None, "failed", str(error))
        try:
            with contained("a plugin that rewrites calls"):
                call = await self._rewritten(call)
        except FerruleError as error:
            self._decided(call, "requirement", refusal(str(error), "hooks"))
            return self._ended(call, None, "declined", str(error))
        tool = parts.tools[call.tool]
        try:
            with contained(call.tool):
                item = await shown(tool, call, parts.settings.cwd)
        except FerruleError as error:
            self._decided(call, "requirement", refusal(str(error), "fault"))
            return self._ended(call, None, "failed", str(error))
        if item is not None:
            parts.recorder.item_started(item)
        try:
            with contained(call.tool):
                result = await self._approved_run(call, tool, item)
        except CallRefusedError as error:
            status = "failed" if isinstance(error, ApprovalFailedError) else "declined"
            return self._ended(call, item, status, str(error))
        except TurnCancelledError as error:
            self._ended(call, item, "declined", str(error))
            raise
        except FerruleError as error:
            return self._ended(call, item, "failed", str(error))
        if not result.success and result.item is None and not result.pending:
            item = self._failing_item(call, item)
        self._complete(item, result)
        return Outcome(call, result, None)

    async def reconsidered(self, outcome: Outcome) -> tuple[Outcome, list[str]]:
        """Let plugins replace what the model reads of a call, and add notes to it."""
        replies = await self._parts.hooks.gather(
            "ferrule_tool_output",
            call=outcome.call,
            result=outcome.result,
            failure=outcome.failure,
            turn=self._info,
        )
        given = [reply for _, reply in replies if isinstance(reply, OutputReply)]
        replacements = [reply.replacement for reply in given if reply.replacement is not None]
        if replacements:
            result = outcome.result._replace(output="\n\n".join(replacements))
            outcome = outcome._replace(result=result)
        return outcome, [reply.context for reply in given if reply.context]

    async def report(self, outcome: Outcome) -> None:
        """Tell the plugins how a call ended; its answer is stored before."""
        call, result, failure = outcome.call, outcome.result, outcome.failure
        observe = self._parts.hooks.observe
        if failure is None:
            await observe("ferrule_tool_after", call=call, result=result, turn=self._info)
        else:
            await observe("ferrule_tool_failure", call=call, reason=failure, turn=self._info)

    async def _rewritten(self, call: ToolCall) -> ToolCall:
        answer = await self._parts.hooks.rewrite("ferrule_tool_rewrite", call=call, turn=self._info)
        if answer is None:
            return call
        if not isinstance(answer, ToolCall) or answer.tool not in self._parts.tools:
            raise PluginError(f"a plugin rewrote a call of {call.tool!r} to something unknown")
        arguments, text = function_arguments(answer.arguments)
        if answer.form == "freeform":
            arguments, text = function_arguments({})[0], answer.text
        return ToolCall(call.call_id, answer.tool, arguments, text, answer.form, call.tool)

    async def _approved_run(
        self, call: ToolCall, tool: Tool, item: ThreadItem | None
    ) -> ToolResult:
        try:
            sandbox = confined(self._parts, self._turn_id)
            with contained(call.tool):
                requirement = await required(tool, call, sandbox)
        except FerruleError as error:
            self._decided(call, "requirement", refusal(str(error), "fault"))
            raise
        escalate = requirement.escalate and not sandbox.policy.unconfined
        wanted = NOTHING if escalate else missing(requirement.permissions, sandbox.policy)
        refused = objection(wanted, sandbox.policy, self._parts.home)
        if refused is not None:
            self._refuse(call, refused, "protected places")
        requirement = requirement._replace(escalate=escalate, permissions=wanted)
        question = await self._requirement(call, tool, requirement)
        granted = await self._meet(call, item, question)
        if escalate:
            sandbox = escalated(self._parts)
        elif any(granted):
            sandbox = confined(self._parts, self._turn_id, granted)
        result = await self._attempt(call, tool, item, sandbox)
        if result.denial is None or sandbox.policy.unconfined or result.pending:
            return result
        return await self._second_attempt(call, tool, item, result)

    async def _requirement(
        self, call: ToolCall, tool: Tool, requirement: Requirement
    ) -> Question | None:
        """Combine all opinions; None when nobody needs to be asked."""
        verdicts = await self._parts.hooks.assess(
            "ferrule_tool_before", call=call, turn=self._info, context=self._parts.context
        )
        self._facts[call.call_id] = self._facts_of(verdicts, requirement)
        ruling = ruled_within(
            self._parts,
            Case(
                call.tool,
                self._parts.settings.approval_policy,
                verdicts,
                requirement,
                self._parts.policy_plugin,
                tool.read_only,
                self._obstacle(requirement),
            ),
        )
        if ruling.decision == "deny":
            self._refuse(call, ruling.reason, ruling.rule)
        if ruling.decision == "allow":
            self._accepted(call, ruling)
            return None
        return Question(
            "requirement",
            ruling.reason,
            requirement.escalate,
            ruling.kinds,
            verdicts=verdicts,
            permissions=requirement.permissions or NOTHING,
            lasting=requirement.lasting,
            offered=requirement.amendments,
            details=requirement.details,
        )

    def _accepted(self, call: ToolCall, ruling: Ruling) -> None:
        outcome: ReviewOutcome = {
            "decision": "accept",
            "reviewer": ruling.by or "policy",
            "reason": ruling.reason,
            "rule": ruling.rule,
        }
        self._decided(call, "requirement", outcome)

    async def _meet(
        self, call: ToolCall, item: ThreadItem | None, question: Question | None
    ) -> AdditionalPermissions:
        """Get approval where a question stands, and return what it grants; raises otherwise."""
        if question is None:
            return NOTHING
        parts = self._parts
        ground = (parts.settings.cwd, sandbox_policies(parts))
        keeps = not question.lasting  # what lasts is kept as a grant
        if keeps and parts.memory.covers(call, ground, question.confinement):
            outcome: ReviewOutcome = {
                "decision": "accept",
                "reviewer": "session",
                "reason": "the same call was accepted for the session",
            }
            self._decided(call, question.phase, outcome)
            return question.permissions
        outcome = await self._review(call, item, question)
        self._decided(call, "escalation" if question.denial else "review", outcome)
        await self._amend(question, outcome)
        if outcome["decision"] == "acceptForSession" and keeps:
            parts.memory.remember(call, ground, question.confinement)
        granted = accepted_part(question, outcome)
        if question.lasting:
            until = None if outcome["decision"] == "acceptForSession" else self._turn_id
            parts.grants.add(granted, sandbox_policies(parts), until)
        return granted

    async def _amend(self, question: Question, outcome: ReviewOutcome) -> None:
        """Have an accepted amendment kept; only one that was offered counts."""
        wanted = outcome.get("amendment")
        if not wanted or outcome["decision"] not in ACCEPTING:
            return
        for amendment in question.amendments:
            if [amendment.kind, *amendment.value] == list(wanted):
                await self._parts.hooks.observe(
                    "ferrule_amendment", amendment=amendment, context=self._parts.context
                )
                return
        self._parts.recorder.warning(
            f"{outcome['reviewer']} accepted an amendment that was not offered: "
            f"{' '.join(wanted)}; it is not kept"
        )

    async def _review(
        self, call: ToolCall, item: ThreadItem | None, question: Question
    ) -> ReviewOutcome:
        parts = self._parts
        request = ReviewRequest(
            self._info.thread_id,
            self._turn_id,
            call,
            item,
            question.reason,
            parts.settings.cwd,
            question.escalate,
            question.denial,
            question.verdicts,
            next((verdict.reviewer for verdict in question.asking if verdict.reviewer), ""),
            question.amendments,
            question.permissions if any(question.permissions) else None,
            question.lasting,
            question.details,
            question.network,
        )
        verdict = strictest(
            await parts.hooks.assess("ferrule_permission_request", request=request, turn=self._info)
        )
        if verdict.decision == "deny":
            return refusal(verdict.reason, verdict.rule or "hooks")
        await parts.hooks.observe(
            "ferrule_notify",
            notification=Notification(
                "approval_needed", self._info.thread_id, self._turn_id, parts.settings.cwd
            ),
            context=parts.context,
        )
        started = time.monotonic()
        try:
            outcome = await reviewed(parts.find_reviewer, request, self._review_context())
        except FerruleError as error:
            return refusal(str(error), "reviewer fault")
        latency = int((time.monotonic() - started) * 1000)
        return cast("ReviewOutcome", {"latencyMs": latency, **outcome})

    def _review_context(self) -> ReviewContext:
        parts = self._parts
        return ReviewContext(
            ask_client=parts.ask_client,
            turn=self._info,
            history=tuple(self._conversation.items),
            user_texts=tuple(
                self._conversation.user_texts if parts.family is None else parts.family.user_texts
            ),
            provider=parts.review_provider,
            emit=parts.recorder.emit,
        )

    async def _attempt(
        self, call: ToolCall, tool: Tool, item: ThreadItem | None, sandbox: BoundSandbox
    ) -> ToolResult:
        asking = Asking(
            partial(self._review, call, item), partial(self._decided, call, "network"), self._amend
        )
        scope = anyio.CancelScope()
        network = NetworkApproval(self._parts, self._turn_id, call, asking, scope)
        with scope:
            sandbox.origin = network.origin
            context = CallContext(self._parts, self._turn_id, sandbox)
            try:
                return await tool.run(call, context)
            except SandboxDeniedError as error:
                return ToolResult(str(error), success=False, denial=error.denial)
            except ToolError as error:
                return ToolResult(str(error), success=False)
        if network.cancelled is None:
            raise PluginError(f"{call.tool} was cancelled by itself")
        raise cancellation(network.cancelled)

    async def _second_attempt(
        self, call: ToolCall, tool: Tool, item: ThreadItem | None, first: ToolResult
    ) -> ToolResult:
        if first.denial is None:
            return first
        policy = self._parts.settings.approval_policy
        obstacle = self._obstacle(Requirement(escalate=True))
        case = Case(call.tool, policy, obstacle=obstacle, is_second=True)
        ruling = ruled_within(self._parts, case)
        if ruling.decision != "ask":
            if ruling.reason == obstacle:
                self._decided(call, "requirement", refusal(ruling.reason, ruling.rule))
            return first
        question = Question(
            "escalation",
            f"{refused_words(first.denial)}; run it without the sandbox?",
            escalate=True,
            kinds=ruling.kinds,
            denial=first.denial,
        )
        try:
            await self._meet(call, item, question)
        except CallRefusedError:
            return first
        return await self._attempt(call, tool, item, escalated(self._parts))

    def _obstacle(self, requirement: Requirement) -> str:
        """Why the administrator lets nobody grant what a call wants; empty where nothing stands."""
        mode: SandboxMode = "danger-full-access"
        words = "it cannot leave the sandbox"
        if not requirement.escalate:
            mode, words = "workspace-write", "it cannot write"
            is_given = policy_mode(self._parts.settings.sandbox_policy) == mode
            if is_given or not (requirement.permissions or NOTHING).write:
                return ""
        try:
            check_allowed("sandbox_mode", mode, self._parts.allowed)
        except ConfigError as error:
            return f"{words}: {error}"
        return ""

    def _refuse(self, call: ToolCall, reason: str, rule: str) -> None:
        self._decided(call, "requirement", refusal(reason, rule))
        raise CallRefusedError(reason)

    def _decided(self, call: ToolCall, phase: Phase, outcome: ReviewOutcome) -> None:
        facts = self._facts.get(call.call_id)
        self._parts.recorder.decided(call.call_id, call.tool, phase, outcome, facts)

    def _facts_of(self, verdicts: Mapping[str, Verdict], requirement: Requirement) -> DecisionFacts:
        settings = self._parts.settings
        wanted = requirement.permissions or NOTHING
        facts: DecisionFacts = {
            "cwd": settings.cwd,
            "approvalPolicy": policy_name(settings.approval_policy),
            "sandboxMode": policy_mode(settings.sandbox_policy),
            "escalated": requirement.escalate,
            "requirement": requirement.kind,
            "opinions": {
                plugin: {"decision": said.decision, "reason": said.reason, "rule": said.rule}
                for plugin, said in verdicts.items()
            },
        }
        if any(wanted):
            facts["permissions"] = wanted.wire
            facts["lasting"] = requirement.lasting
        return facts

    def _ended(
        self,
        call: ToolCall,
        item: ThreadItem | None,
        status: Literal["declined", "failed"],
        reason: str,
    ) -> Outcome:
        """Complete the item of a call that gave no result of its own."""
        item = self._failing_item(call, item)
        result = ToolResult(reason, success=False, item=ended_item(item, status, reason))
        self._complete(item, result)
        return Outcome(call, result, reason)

    def _failing_item(self, call: ToolCall, item: ThreadItem | None) -> ThreadItem:
        """Return an item that can show a failure: its own where it has a status, else a call."""
        if item is not None and "status" in item:
            return item
        arguments = loads(call.text) if call.form == "function" else call.text
        shown: DynamicToolCallItem = {
            "type": "dynamicToolCall",
            "id": call.call_id,
            "tool": call.tool,
            "arguments": arguments,
            "status": "inProgress",
        }
        if not self._parts.recorder.is_open(call.call_id):
            self._parts.recorder.item_started(shown)
        return shown

    def _complete(self, item: ThreadItem | None, result: ToolResult) -> None:
        recorder = self._parts.recorder
        if item is None or not recorder.is_open(item["id"]):
            return
        if result.pending:
            recorder.keep_open(item["id"])
            return
        status = "completed" if result.success else "failed"
        recorder.item_completed(result.item or ended_item(item, status, result.output))


def refusal(reason: str, rule: str) -> ReviewOutcome:
    """The decision of somebody who is not a reviewer to refuse a call."""
    return {"decision": "decline", "reviewer": "policy", "reason": reason, "rule": rule}


def ended_item(
    item: ThreadItem, status: Literal["completed", "failed", "declined"], output: object
) -> ThreadItem:
    """Give a started item its final form, where its tool has not done so itself."""
    changes: dict[str, object] = {}
    with_status = ("dynamicToolCall", "commandExecution", "fileChange", "mcpToolCall")
    if item["type"] in (*with_status, "contextCompaction"):
        changes["status"] = status
    if isinstance(output, str) and item["type"] == "commandExecution":
        changes["aggregatedOutput"] = output
    if item["type"] == "collabAgentToolCall":  # clients know no other end of these
        changes["status"] = "completed" if status == "completed" else "failed"
    if item["type"] == "mcpToolCall" and status != "completed":
        # Clients know two ends of these only; why is in the error.
        changes |= {"status": "failed", "error": {"message": str(output)}, "durationMs": 0}
    if item["type"] == "dynamicToolCall":
        text = output if isinstance(output, str) else ""
        changes["status"] = "completed" if status == "completed" else "failed"  # all clients know
        changes["success"] = status == "completed"
        changes["contentItems"] = [{"type": "inputText", "text": text}]
    return cast("ThreadItem", {**item, **changes})
