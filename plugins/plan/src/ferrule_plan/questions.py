"""The tool `request_user_input`: the model asks the user a few short questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.errors import ToolArgumentError, ToolError
from ferrule_hookspecs.tools import FunctionSchema, Tool, ToolCall, ToolContext, ToolResult

if TYPE_CHECKING:
    from ferrule_hookspecs.events import QuestionOption, UserInputRequest, UserQuestion

_MOST_QUESTIONS: Final = 3
_FOREVER: Final = float("inf")
_TEXT: Final = {"type": "string"}
_PARAMETERS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "description": "One to three questions, asked at once.",
            "items": {
                "type": "object",
                "properties": {
                    "id": {**_TEXT, "description": "A short name; the answer comes under it."},
                    "header": {**_TEXT, "description": "One or two words above the question."},
                    "question": {**_TEXT, "description": "One sentence."},
                    "options": {
                        "type": "array",
                        "description": "Two or three answers to choose from, the one you advise "
                        "first. The user can always answer in other words.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "label": {**_TEXT, "description": "One to five words."},
                                "description": {**_TEXT, "description": "What follows from it."},
                            },
                            "required": ["label", "description"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["id", "header", "question", "options"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


class RequestUserInput(Tool):
    """Asks the user and hands the answers to the model."""

    name = "request_user_input"
    description = (
        "Asks the user one to three short questions and waits for the answers. "
        "Use it where only the user can decide, and you cannot find out by yourself."
    )
    read_only = True
    needs_client = True

    def is_enabled(self) -> bool:
        """Off unless `[features] default_mode_request_user_input = true`."""
        return self.context.table("features").get("default_mode_request_user_input") is True

    def schema(self) -> FunctionSchema:
        """The questions."""
        return FunctionSchema(self.name, self.description, _PARAMETERS)

    def normalize(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Check every question; fields nobody knows are left out."""
        given = arguments.get("questions")
        if not isinstance(given, list) or not given:
            raise _error("questions: expected a list of one to three")
        found = cast("list[object]", given)
        if len(found) > _MOST_QUESTIONS:
            raise _error(f"questions: at most {_MOST_QUESTIONS} can be asked at once")
        questions = [_question(f"questions.{number}", each) for number, each in enumerate(found)]
        if len({question["id"] for question in questions}) < len(questions):
            raise _error("questions: every id must be used once")
        return {"questions": questions}

    def item(self, call: ToolCall, cwd: str) -> None:
        """A question is shown by itself, not as an item."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Ask and wait."""
        if context.ask_client is None:
            raise ToolError("nobody can be asked here; decide yourself and say how you did")
        questions = json.loads(call.text)["questions"]
        timeout_s = self._timeout_s()
        request: UserInputRequest = {
            "id": 0,
            "method": "item/tool/requestUserInput",
            "params": {
                "threadId": context.thread_id,
                "turnId": context.turn_id,
                "itemId": call.call_id,
                "questions": questions,
                "isBlocking": False,
            },
        }
        if timeout_s is not None:
            request["params"]["autoResolutionMs"] = int(timeout_s * 1000)
        answer: Mapping[str, object] = {}
        with anyio.move_on_after(timeout_s) as waiting:
            answer = await context.ask_client(request)
        if waiting.cancelled_caught:
            raise ToolError(
                f"the user did not answer within {timeout_s:g} s; decide yourself and say how you"
                " did"
            )
        answers = _answers(answer, [str(question["id"]) for question in questions])
        return ToolResult(json.dumps({"answers": answers}, ensure_ascii=False))

    def _timeout_s(self) -> float | None:
        """How long the user has time, as `[tools.request_user_input] timeout_sec` says."""
        value = self.context.settings.get("timeout_sec")
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        seconds = float(cast("float", value)) if is_number else 0.0
        if not 0 < seconds < _FOREVER:
            raise ToolError(
                "[tools.request_user_input] `timeout_sec` must be a number above zero; the user"
                " was not asked"
            )
        return seconds


def _answers(answer: Mapping[str, object], ids: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Take what was answered to the questions that were asked, and nothing else."""
    given = answer.get("answers")
    if not isinstance(given, Mapping):
        raise ToolError("the user's client gave no answer; decide yourself and say how you did")
    table = cast("Mapping[str, object]", given)
    return {key: {"answers": _texts(table[key])} for key in ids if key in table}


def _texts(value: object) -> list[str]:
    texts = (
        cast("Mapping[str, object]", value).get("answers") if isinstance(value, Mapping) else None
    )
    if not isinstance(texts, list | tuple):
        return []
    return [text for text in cast("Sequence[object]", texts) if isinstance(text, str)]


def _question(place: str, value: object) -> UserQuestion:
    table = _table(place, value)
    options = table.get("options")
    if options is not None and not isinstance(options, list):
        raise _error(f"{place}.options: expected a list")
    return {
        "id": _text(place, table, "id"),
        "header": _text(place, table, "header"),
        "question": _text(place, table, "question"),
        "isOther": True,
        "isSecret": False,
        "options": [
            _option(f"{place}.options.{number}", each)
            for number, each in enumerate(cast("list[object]", options or []))
        ]
        or None,
    }


def _option(place: str, value: object) -> QuestionOption:
    table = _table(place, value)
    return {
        "label": _text(place, table, "label"),
        "description": _text(place, table, "description"),
    }


def _table(place: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise _error(f"{place}: expected an object")
    return cast("Mapping[str, object]", value)


def _text(place: str, table: Mapping[str, object], key: str) -> str:
    text = table.get(key)
    if not isinstance(text, str) or not text:
        raise _error(f"{place}: missing field `{key}`")
    return text


def _error(message: str) -> ToolArgumentError:
    return ToolArgumentError(f"failed to parse function arguments: {message}")
