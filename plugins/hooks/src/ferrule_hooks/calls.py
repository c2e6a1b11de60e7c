"""What hooks say about a tool call: before it runs, when it is asked about, and afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hooks.payloads import turn_payload
from ferrule_hooks.tool_view import (
    UpdateError,
    changed_call,
    exit_code,
    same_call,
    tool_input,
    tool_names,
    tool_response,
)
from ferrule_hookspecs.hooks import OutputReply
from ferrule_hookspecs.review import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hooks.answers import Answer
    from ferrule_hooks.payloads import Payload
    from ferrule_hooks.session import HookSession
    from ferrule_hookspecs.review import ReviewRequest
    from ferrule_hookspecs.tools import ToolCall, ToolResult, TurnInfo


class Judgement(NamedTuple):
    """What the PreToolUse hooks said.

    Attributes:
        call: The call they would have run.
        is_changed: Whether it is another one than they were asked about.
        verdict: Their combined opinion; None where they have none.
        context: What they want the model to know.
    """

    call: ToolCall
    is_changed: bool
    verdict: Verdict | None
    context: tuple[str, ...]


async def judge(
    session: HookSession, call: ToolCall, turn: TurnInfo, *, may_change: bool = True
) -> Judgement:
    """Ask the PreToolUse hooks; what they change is shown to the others again."""
    answers = await _ask(session, call, turn)
    verdict = combined(call, answers, turn.cwd)
    updates = _updates(answers)
    if (verdict and verdict.decision == "deny") or not updates:
        return Judgement(call, False, verdict, _contexts(answers))
    try:
        changed = _changed(call, updates, turn.cwd, may_change=may_change)
    except UpdateError as error:
        return Judgement(call, False, _refusal(call, str(error), turn.cwd), ())
    if same_call(changed, call):
        return Judgement(call, False, verdict, _contexts(answers))
    changers = {answer.handler for answer in answers if answer.updated_input is not None}
    again = await _ask(session, changed, turn)
    others = [answer for answer in again if answer.handler not in changers]
    final = combined(changed, [*answers, *others], turn.cwd)
    if any(answer.updated_input is not None for answer in others):
        final = _refusal(call, "a hook wants to change what another one changed already", turn.cwd)
    return Judgement(changed, True, final, (*_contexts(answers), *_contexts(others)))


async def judge_request(
    session: HookSession, request: ReviewRequest, turn: TurnInfo
) -> Verdict | None:
    """Ask the PermissionRequest hooks; an allow never stands for the reviewer."""
    call = request.call
    shown = {**tool_input(call, turn.cwd), "description": request.reason}
    payload = turn_payload(
        session.context,
        turn,
        "PermissionRequest",
        tool_name=tool_names(call)[0],
        tool_input=shown,
        escalated=request.escalation,
    )
    answers = await session.run("PermissionRequest", payload, tool_names(call))
    denial = next((answer for answer in answers if answer.decision == "deny"), None)
    if denial is not None:
        return Verdict.deny(f"refused by PermissionRequest hook: {denial.reason}", _rule(denial))
    if any(answer.decision == "allow" for answer in answers):
        session.warn(
            "a PermissionRequest hook answered allow: it raises no objection, and the reviewer is "
            "asked all the same; to let a program decide, configure it as a reviewer"
        )
    return None


async def judge_output(
    session: HookSession, call: ToolCall, result: ToolResult, failure: str | None, turn: TurnInfo
) -> OutputReply | None:
    """Ask the PostToolUse or PostToolUseFailure hooks."""
    judged = session.judged.pop(call.call_id, None)
    contexts = [] if judged is None else list(judged.context)
    code = exit_code(result)
    has_failed = failure is not None or (not result.success and code is None)
    event = "PostToolUseFailure" if has_failed else "PostToolUse"
    replacement: str | None = None
    if session.has(event):
        facts: Payload = {"tool_response": tool_response(result), "tool_use_id": call.call_id}
        if has_failed:
            facts = {"tool_use_id": call.call_id, "error": failure or tool_response(result)}
        elif code is not None:
            facts["exit_code"] = code
        answers = await session.run(
            event, _payload(session, event, call, turn, facts), _names(call)
        )
        contexts += _contexts(answers)
        replacement = _replacement(session, answers)
    if replacement is None and not contexts:
        return None
    return OutputReply(replacement, "\n\n".join(contexts) or None)


def combined(call: ToolCall, answers: Sequence[Answer], cwd: str) -> Verdict | None:
    """Combine opinions: a refusal wins, then a question, in whatever order they came."""
    denials = sorted(
        (answer for answer in answers if answer.decision == "deny"), key=lambda a: a.reason
    )
    if denials:
        return _refusal(call, denials[0].reason, cwd)._replace(rule=_rule(denials[0]))
    questions = sorted(
        (answer for answer in answers if answer.decision == "ask"), key=lambda a: a.reason
    )
    if questions:
        return Verdict.ask(questions[0].reason, _rule(questions[0]))
    return Verdict.allow() if any(answer.decision == "allow" for answer in answers) else None


async def _ask(session: HookSession, call: ToolCall, turn: TurnInfo) -> list[Answer]:
    facts: Payload = {"tool_use_id": call.call_id}
    payload = _payload(session, "PreToolUse", call, turn, facts)
    return await session.run("PreToolUse", payload, tool_names(call))


def _payload(
    session: HookSession, event: str, call: ToolCall, turn: TurnInfo, facts: Payload
) -> Payload:
    return turn_payload(
        session.context,
        turn,
        event,
        tool_name=tool_names(call)[0],
        tool_input=tool_input(call, turn.cwd),
        **facts,
    )


def _names(call: ToolCall) -> tuple[str, ...]:
    return tool_names(call)


def _updates(answers: Sequence[Answer]) -> list[Mapping[str, object]]:
    found = {
        json.dumps(answer.updated_input, sort_keys=True): answer.updated_input
        for answer in answers
        if answer.updated_input is not None
    }
    return list(found.values())


def _changed(
    call: ToolCall, updates: Sequence[Mapping[str, object]], cwd: str, *, may_change: bool
) -> ToolCall:
    if len(updates) > 1:
        raise UpdateError("two hooks want to change the call in different ways")
    changed = changed_call(call, updates[0], cwd)
    if not may_change and not same_call(changed, call):
        raise UpdateError("a hook wants to change a call that a plugin changed already")
    return changed


def _refusal(call: ToolCall, reason: str, cwd: str) -> Verdict:
    shown = tool_input(call, cwd).get("command")
    text = f"Tool call blocked by PreToolUse hook: {reason}"
    if tool_names(call)[0] == "Bash":
        text = f"Command blocked by PreToolUse hook: {reason}. Command: {shown}"
    return Verdict.deny(text, "hooks")


def _rule(answer: Answer) -> str:
    return answer.handler.place


def _contexts(answers: Sequence[Answer]) -> tuple[str, ...]:
    return tuple(answer.context for answer in answers if answer.context)


def _replacement(session: HookSession, answers: Sequence[Answer]) -> str | None:
    blocked = [answer.reason for answer in answers if answer.decision == "deny"]
    if blocked:
        return "\n\n".join(blocked)
    texts = list(dict.fromkeys(a.replacement for a in answers if a.replacement is not None))
    if len(texts) > 1:
        session.warn("two hooks replaced one tool's output; the model reads both texts")
    return "\n\n".join(texts) if texts else None
