"""The history as the Messages API wants it: a system prompt, then user and assistant in turns.

What the model said in one response stands in one assistant message, and the results of its calls
open the user message after it, whatever the order they were stored in. A longer history begins
with the bytes of the shorter one: that is what prompt caches and signed thinking blocks rest on.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_anthropic.content import Block, blocks_of, text_block, texts_of
from ferrule_anthropic.names import CallIds, wire_name
from ferrule_anthropic.reasoning import thinking_block
from ferrule_hookspecs.history import called_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule_hookspecs.history import (
        CallItem,
        CallOutputItem,
        HistoryItem,
        MessageItem,
        ReasoningHistoryItem,
    )

Message = dict[str, object]

_CALLS: Final = ("function_call", "custom_tool_call")
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
_LONGEST_NUMBER: Final = 6
_NO_RESULT: Final = "(There is no result of this call: it was interrupted.)"
_BEGINNING: Final = "(The conversation begins here.)"
_GO_ON: Final = "(The answer was cut off here. Go on.)"


class Prompt(NamedTuple):
    """What a history becomes."""

    system: list[Block]
    messages: list[Message]


def prompt_of(history: Sequence[HistoryItem], *, unreadable: Collection[str] = ()) -> Prompt:
    """Translate a history; any history gives messages the API takes.

    Args:
        history: Oldest first.
        unreadable: Sealed contents of reasoning that the server has refused; left out.
    """
    start = next((at for at, item in enumerate(history) if not _is_instruction(item)), len(history))
    system = [
        block
        for item in history[:start]
        for block in texts_of(cast("MessageItem", item)["content"])
    ]
    return Prompt(system, _Writer(history[start:], unreadable).write())


class Place(NamedTuple):
    """Where the model said something: in which response, as its how-manieth block."""

    response: str
    number: int

    @staticmethod
    def of(item: HistoryItem) -> Place | None:
        """The place an item's id tells; None where it came from elsewhere."""
        tail = str(item.get("id") or "").partition("_")[2]
        response, _, number = tail.rpartition(".")
        is_ours = bool(response) and number.isdecimal() and len(number) <= _LONGEST_NUMBER
        return Place(response, int(number)) if is_ours else None

    def goes_on(self, before: Place | None) -> bool:
        """Whether this is later in the same response; some servers give all of them one id."""
        if before is None or before.response != self.response:
            return False
        return before.number < self.number


def item_id(prefix: str, message_id: str, index: int) -> str:
    """The id of an item that came as block `index` of a message; `Place.of` reads it."""
    return f"{prefix}_{message_id.removeprefix('msg_')}.{index}"


def _is_instruction(item: HistoryItem) -> bool:
    return item["type"] == "message" and item["role"] in ("developer", "system")


class _Writer:
    """Writes the messages of one request."""

    def __init__(self, items: Sequence[HistoryItem], unreadable: Collection[str]) -> None:
        self._items = items
        self._unreadable = unreadable
        self._answers, self._strays = _paired(items)
        self._ids = CallIds()
        self._messages: list[Message] = []
        self._said: list[Block] = []
        self._results: list[Block] = []
        self._place: Place | None = None
        self._is_answered = False

    def write(self) -> list[Message]:
        for at, item in enumerate(self._items):
            if item["type"] in _OUTPUTS:
                self._output(at, cast("CallOutputItem", item))
            elif item["type"] == "message" and item["role"] != "assistant":
                self._close()
                self._hear(_heard(item))
            else:
                self._say(at, item)
        self._close()
        if not self._messages or self._messages[-1]["role"] == "assistant":
            self._hear(text_block(_GO_ON if self._messages else _BEGINNING))
        return self._messages

    def _output(self, at: int, item: CallOutputItem) -> None:
        if at not in self._strays:
            self._is_answered = bool(self._said)
            return
        self._close()
        self._hear([*text_block("(The result of an earlier call:)"), *_result_blocks(item)])

    def _say(self, at: int, item: HistoryItem) -> None:
        """Add what the model said; it is one message as long as it is one response."""
        place = Place.of(item)
        goes_on = place is not None and place.goes_on(self._place)
        is_known = place is not None and self._place is not None
        if self._said and not goes_on and (is_known or self._is_answered):
            self._close()
        blocks = self._blocks_said(at, item)
        if blocks:
            self._said += blocks
            self._place = place

    def _blocks_said(self, at: int, item: HistoryItem) -> list[Block]:
        if item["type"] == "message":
            return texts_of(item["content"])
        if item["type"] == "reasoning":
            return self._thought(item)
        return [self._call(at, cast("CallItem", item))] if item["type"] in _CALLS else []

    def _thought(self, item: ReasoningHistoryItem) -> list[Block]:
        if item.get("encrypted_content") in self._unreadable:
            return []
        block = thinking_block(item)
        return [block] if block else []

    def _call(self, at: int, item: CallItem) -> Block:
        call_id = self._ids.take(item["call_id"])
        self._results.append(_result(call_id, self._answers.get(at)))
        return {
            "type": "tool_use",
            "id": call_id,
            "name": wire_name(called_name(item)),
            "input": _input(item),
        }

    def _close(self) -> None:
        """End what the model said; the results of its calls follow."""
        while self._said and str(self._said[-1]["type"]).endswith("thinking"):
            self._said.pop()  # cut off before it came to anything; the API refuses such an end
        if self._said:
            if not self._messages or self._messages[-1]["role"] == "assistant":
                self._hear(text_block(_GO_ON if self._messages else _BEGINNING))
            self._messages.append({"role": "assistant", "content": self._said})
            self._hear(self._results)
        self._said, self._results = [], []
        self._place, self._is_answered = None, False

    def _hear(self, blocks: list[Block]) -> None:
        if not blocks:
            return
        if self._messages and self._messages[-1]["role"] == "user":
            cast("list[Block]", self._messages[-1]["content"]).extend(blocks)
        else:
            self._messages.append({"role": "user", "content": list(blocks)})


def _paired(items: Sequence[HistoryItem]) -> tuple[dict[int, CallOutputItem], set[int]]:
    """Find the output of each call by its place, and the places of outputs without a call."""
    waiting: dict[str, list[int]] = {}
    answers: dict[int, CallOutputItem] = {}
    strays: set[int] = set()
    for at, item in enumerate(items):
        if item["type"] in _CALLS:
            waiting.setdefault(cast("CallItem", item)["call_id"], []).append(at)
        elif item["type"] in _OUTPUTS:
            output = cast("CallOutputItem", item)
            calls = waiting.get(output["call_id"])
            if calls:
                answers[calls.pop(0)] = output
            else:
                strays.add(at)
    return answers, strays


def _heard(item: MessageItem) -> list[Block]:
    """What is not the model's: the user's words, or instructions that came later, tagged."""
    if item["role"] == "user":
        return blocks_of(item["content"])
    text = "\n".join(str(block["text"]) for block in texts_of(item["content"]))
    return text_block(f"<developer_message>\n{text}\n</developer_message>") if text else []


def _result(call_id: str, output: CallOutputItem | None) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": call_id}
    if output is None:
        return {**result, "content": _NO_RESULT, "is_error": True}
    content = _result_blocks(output)
    return {**result, "content": content} if content else result


def _result_blocks(output: CallOutputItem) -> list[Block]:
    given = output["output"]
    return text_block(given) if isinstance(given, str) else blocks_of(given)


def _input(item: CallItem) -> dict[str, object]:
    if item["type"] == "custom_tool_call":
        return {"input": item["input"]}
    text = item["arguments"]
    try:
        value = json.loads(text or "{}", parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        value = None
    # The model wrote no JSON object, and was told so in the result; it sees what it wrote.
    return cast("dict[str, object]", value) if isinstance(value, dict) else {"arguments": text}


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number
