"""Writes the kernel's history as the dialogue the embedded model knows: task, step, result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from ferrule_local.prompt import step_text
from ferrule_local.steps import to_result, to_step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_hookspecs.history import (
        CallItem,
        CallOutputItem,
        HistoryItem,
        MessageItem,
        ReasoningHistoryItem,
    )

_RESULT_CHARACTERS: Final = 1_500
_NOTES_CHARACTERS: Final = 1_500
_LONG: Final = 600
_CALLS: Final = ("function_call", "custom_tool_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
_ENVIRONMENT: Final = re.compile(r"<environment_context>.*?</environment_context>", re.S)
AGAIN: Final = "You did this before, with the same result. Do something else, or say done."


class Dialogue:
    """The messages for the model, and how its present turn goes.

    Attributes:
        messages: What was said, without the system prompt.
        repeats: How often the last step has been taken in this turn with the same result.
        last_tool: What kind of step that was.
        steps: How many steps the turn has had.
    """

    def __init__(self, history: Sequence[HistoryItem]) -> None:
        """Write the whole history."""
        self.messages: list[dict[str, str]] = []
        self.repeats = 0
        self.last_tool = ""
        self.steps = 0
        self._seen: dict[tuple[str, str], int] = {}
        self._notes = ""
        self._why = ""
        self._present_task = ""
        outputs = {
            cast("CallOutputItem", item)["call_id"]: cast("CallOutputItem", item)
            for item in history
            if item["type"] in _OUTPUTS
        }
        for item in history:
            if item["type"] == "reasoning":
                self._why = _summary(cast("ReasoningHistoryItem", item))
            elif item["type"] == "message":
                self._message(cast("MessageItem", item))
            elif item["type"] in _CALLS:
                call = cast("CallItem", item)
                self._call(call, outputs.get(call["call_id"]))

    def _message(self, item: MessageItem) -> None:
        text = "\n".join(part.get("text", "") for part in item["content"]).strip()
        if item["role"] == "assistant":
            self._say("assistant", step_text(self._take_why(), {"tool": "done", "message": text}))
        elif item["role"] == "user":
            rest = _ENVIRONMENT.sub("", text).strip()
            if rest != text:  # what stands before the conversation
                self._notes = shortened(rest, _NOTES_CHARACTERS)
            elif rest:
                self._task(rest)

    def _task(self, text: str) -> None:
        notes, self._notes = self._notes, ""
        before = f"Notes about the project:\n{notes}\n\n" if notes else ""
        self._say("user", f"{before}Task: {text}")
        self._present_task = shortened(text, _RESULT_CHARACTERS)
        self.repeats, self.steps = 0, 0
        self._seen.clear()

    def _call(self, call: CallItem, output: CallOutputItem | None) -> None:
        step: dict[str, Any] = to_step(call)
        self._say("assistant", step_text(self._take_why(), step))
        result = "it was interrupted" if output is None else to_result(step, output)
        result = shortened(result, _RESULT_CHARACTERS)
        key = (step_text("", step), result)
        self.repeats = self._seen[key] = self._seen.get(key, 0) + 1
        self.steps += 1
        self.last_tool = str(step["tool"])
        again = f"\n{AGAIN}" if self.repeats > 1 else ""
        # Behind a long result the model takes up the task of its example again.
        reminder = f"\nThe task: {self._present_task}" if len(result) > _LONG else ""
        self._say("user", f"Result: {result}{again}{reminder}")

    def _take_why(self) -> str:
        why, self._why = self._why, ""
        return why

    def _say(self, role: str, text: str) -> None:
        """Add a message; what follows one of the same side belongs to it."""
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += f"\n{text}"
        else:
            self.messages.append({"role": role, "content": text})


def plain_messages(history: Sequence[HistoryItem]) -> list[dict[str, str]]:
    """Write a history for a request that has no steps, such as a summary."""
    return list(_plain(history))


def shortened(text: str, limit: int) -> str:
    """Cut the middle out of a text that is too long."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def _plain(history: Sequence[HistoryItem]) -> Iterator[dict[str, str]]:
    for item in history:
        if item["type"] == "message" and item["role"] in ("user", "assistant"):
            text = "\n".join(part.get("text", "") for part in item["content"])
            yield {"role": item["role"], "content": text}
        elif item["type"] in _CALLS:
            yield {"role": "assistant", "content": step_text("", to_step(cast("CallItem", item)))}
        elif item["type"] in _OUTPUTS:
            output = to_result({"tool": ""}, cast("CallOutputItem", item))
            yield {"role": "user", "content": f"Result: {shortened(output, _RESULT_CHARACTERS)}"}


def _summary(item: ReasoningHistoryItem) -> str:
    return " ".join(part.get("text", "") for part in item["summary"])
