"""What a hook answered: exit codes and JSON, as Codex and Claude Code define them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hooks.definitions import is_table
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hooks.handler import Handler

_BLOCK: Final = 2
_TOKENS: Final = 2_500
_TOP: Final = frozenset(
    {
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "decision",
        "reason",
        "hookSpecificOutput",
    }
)
_SPECIFIC: Final = frozenset(
    {
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
        "decision",
        "updatedToolOutput",
        "updatedMCPToolOutput",
    }
)
_PLAIN_TEXT: Final = ("SessionStart", "UserPromptSubmit", "SubagentStart")
"""Events for which text that is no JSON is context for the model."""


class AnswerError(FerruleError):
    """A hook failed, or what it said is not understood."""


class Raw(NamedTuple):
    """What running a hook gave."""

    exit_code: int
    stdout: str
    stderr: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one hook wants.

    Attributes:
        handler: The hook.
        decision: allow, ask or deny; deny also stands for every kind of blocking.
        reason: Why.
        is_stop: Whether it said `continue: false`.
        updated_input: A changed input of the tool.
        replacement: What the model reads instead of the tool's output.
        context: Text for the model.
        message: Text for the user.
        failure: Why the hook failed, if it did.
    """

    handler: Handler
    decision: Literal["allow", "ask", "deny"] | None = None
    reason: str = ""
    is_stop: bool = False
    updated_input: Mapping[str, object] | None = None
    replacement: str | None = None
    context: str | None = None
    message: str | None = None
    failure: str | None = None


def failed(handler: Handler, failure: str) -> Answer:
    """The answer of a hook that failed; whether that refuses is the hook's own setting."""
    if handler.on_error == "allow":
        return Answer(handler, failure=failure)
    reason = f"the hook {handler.target!r} ({handler.source.file}) {failure}"
    return Answer(handler, "deny", reason, failure=failure)


def understood(handler: Handler, raw: Raw) -> Answer:
    """Read what a hook said.

    Raises:
        AnswerError: It failed, or cannot be understood.
    """
    if raw.exit_code == _BLOCK:
        reason = raw.stderr.strip() or raw.stdout.strip() or "the hook gave no reason"
        return Answer(handler, "deny", reason)
    if raw.exit_code != 0:
        said = raw.stderr.strip().partition("\n")[0]
        raise AnswerError(f"ended with exit code {raw.exit_code}" + (f": {said}" if said else ""))
    text = raw.stdout.strip()
    if not text.startswith("{"):
        is_context = handler.event in _PLAIN_TEXT and text
        return Answer(handler, context=_limited(handler, text) if is_context else None)
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise AnswerError(f"wrote JSON that cannot be read: {error}") from None
    return from_json(handler, value)


def from_json(handler: Handler, value: object) -> Answer:
    """Read a JSON answer.

    Raises:
        AnswerError: It cannot be understood.
    """
    if value is None:
        return Answer(handler)
    if not is_table(value):
        raise AnswerError(f"answered {type(value).__name__}, not a JSON object")
    specific = value.get("hookSpecificOutput", {})
    if not is_table(specific):
        raise AnswerError("answered a hookSpecificOutput that is no object")
    if unknown := sorted((value.keys() - _TOP) | (specific.keys() - _SPECIFIC)):
        raise AnswerError(f"answered what is not known: {', '.join(unknown)}")
    event = specific.get("hookEventName", handler.event)
    if event != handler.event:
        raise AnswerError(f"answered for {event!r}, but was asked about {handler.event}")
    answer = _decided(handler, value, specific)
    if value.get("continue") is False:
        reason = _text(value, "stopReason") or answer.reason or "the hook said to stop"
        answer = replace(answer, decision="deny", reason=reason, is_stop=True)
    updated = specific.get("updatedInput")
    if updated is not None and not is_table(updated):
        raise AnswerError("answered an updatedInput that is no object")
    return replace(
        answer,
        updated_input=updated,
        replacement=_output(specific),
        context=_limited(handler, _text(specific, "additionalContext")),
        message=_text(value, "systemMessage"),
    )


def _decided(handler: Handler, value: dict[str, object], specific: dict[str, object]) -> Answer:
    said = value.get("decision")
    if said not in (None, "block", "approve"):
        raise AnswerError(f"answered the decision {said!r}; it may be block or approve")
    if said == "block":
        return Answer(handler, "deny", _text(value, "reason") or "the hook gave no reason")
    wanted = specific.get("permissionDecision")
    reason = _text(specific, "permissionDecisionReason") or ""
    nested = specific.get("decision")
    if is_table(nested):
        wanted = nested.get("behavior")
        reason = _text(nested, "message") or ""
        if nested.keys() - {"behavior", "message"}:
            raise AnswerError("answered a decision with more than behavior and message")
    elif nested is not None:
        raise AnswerError("answered a decision that is no object")
    match wanted:
        case None:
            return Answer(handler, "allow" if said == "approve" else None)
        case "allow":
            return Answer(handler, "allow", reason)
        case "ask":
            return Answer(handler, "ask", reason or "a hook wants you to be asked")
        case "deny":
            return Answer(handler, "deny", reason or "the hook gave no reason")
        case _:
            raise AnswerError(f"answered {wanted!r}; it may be allow, ask or deny")


def _output(specific: dict[str, object]) -> str | None:
    for key in ("updatedToolOutput", "updatedMCPToolOutput"):
        value = specific.get(key)
        if value is not None:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None


def _text(table: dict[str, object], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise AnswerError(f"answered a {key} that is no string")
    return value


def _limited(handler: Handler, text: str | None) -> str | None:
    """Cut text for the model; four characters count as a token."""
    if text is None:
        return None
    limit = handler.context_tokens or _TOKENS
    return text if len(text) <= 4 * limit else f"{text[: 4 * limit]}\n[… cut by hooks]"
