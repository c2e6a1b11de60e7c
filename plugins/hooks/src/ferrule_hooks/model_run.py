"""Runs a hook that is a question to a model: `prompt`, or `agent`, which may look at files."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ferrule_hooks.answers import Answer, AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_consult.lookups import LookUps
    from ferrule_hooks.handler import Handler
    from ferrule_hooks.payloads import Payload
    from ferrule_hooks.surroundings import Surroundings
    from ferrule_hookspecs.provider import ModelRequest

_EVENT_TOKENS: Final = 16_000
_LOOKUPS: Final = 16
_REASON_LIMIT: Final = 2_000
_MEANS: Final = (
    ", and from files of the project, which you may look at with `list_dir` and `read_file`"
)
_EVENT: Final = "(the event below)"
_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["ok", "reason"],
    "additionalProperties": False,
}


async def ask_model(handler: Handler, payload: Payload, around: Surroundings) -> Answer:
    """Have a model answer the question of a hook about an event.

    Raises:
        AnswerError: There is no model, it did not answer, or its answer is not understood.
    """
    from ferrule_consult.exchange import answer_of
    from ferrule_consult.lookups import LookUps
    from ferrule_hookspecs.errors import FerruleError

    if around.services is None:
        raise AnswerError("needs a model, and there is none outside of a session")
    try:
        lookups = None
        if handler.kind == "agent":
            lookups = LookUps(around.services.files(), around.root, _LOOKUPS)
        provider = around.services.provider()
        request = _request(handler, payload, lookups)
        answer = await answer_of(provider, request, handler.timeout_s, lookups)
        return _judged(handler, answer.text)
    except AnswerError:
        raise
    except FerruleError as error:
        raise AnswerError(f"got no answer from the model: {error}") from None


def _request(handler: Handler, payload: Payload, lookups: LookUps | None) -> ModelRequest:
    from ferrule_consult.lookups import SCHEMAS
    from ferrule_consult.text import message
    from ferrule_hookspecs.provider import ModelRequest

    rules = files("ferrule_hooks").joinpath("judging.md").read_text(encoding="utf-8")
    rules = rules.replace("{means}", _MEANS if lookups is not None else "", 1)
    return ModelRequest(
        thread_id=f"hook:{payload['session_id']}",
        turn_id=str(payload["turn_id"]),
        model=handler.model or str(payload["model"]),
        input=(message("developer", rules), message("user", _question(handler, payload))),
        tools=() if lookups is None else SCHEMAS,
        kind="review",
        parallel_tool_calls=False,
        output_schema=_SCHEMA,
    )


def _question(handler: Handler, payload: Payload) -> str:
    from ferrule_consult.fence import fenced, nonce_for
    from ferrule_consult.text import cut, json_line, tokens

    line = json_line(payload)
    if tokens(line) > _EVENT_TOKENS:
        if handler.facts.is_guard:
            raise AnswerError("cannot judge this: the event is too long to be shown as a whole")
        line = json_line({"cut_event": cut(line, _EVENT_TOKENS).text})
    asked = handler.target.replace("$ARGUMENTS", _EVENT).strip()
    nonce = nonce_for([line, asked])
    return f"{fenced('QUESTION', [asked], nonce)}\n{fenced('EVENT', [line], nonce)}"


def _judged(handler: Handler, text: str) -> Answer:
    from ferrule_consult.answer import AnswerError as NoObjectError
    from ferrule_consult.answer import only_object

    try:
        found = only_object(text)
    except NoObjectError as error:
        raise AnswerError(f"was not answered as it must be: {error}") from None
    is_fine, reason = found.get("ok"), found.get("reason", "")
    if not isinstance(is_fine, bool) or not isinstance(reason, str):
        raise AnswerError('was not answered as it must be: {"ok": true or false, "reason": text}')
    if is_fine:
        return Answer(handler)
    return Answer(handler, "deny", reason.strip()[:_REASON_LIMIT] or "the hook gave no reason")
