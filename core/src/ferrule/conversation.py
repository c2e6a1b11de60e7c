"""The model's side of a thread, in memory and in the rollout, always well formed.

Every call has its output: a turn that is cut short answers what is open before it ends.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final, cast

from ferrule.call_parsing import output_item
from ferrule.gauge import Gauge, stored_gauge
from ferrule.ledger import Ledger, stored_entries
from ferrule.prefix_length import stored_prefix_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.recorder import Recorder
    from ferrule_hookspecs.history import (
        AnyCall,
        CallAnswer,
        ContentPart,
        HistoryItem,
        MessageItem,
    )
    from ferrule_hookspecs.items import UserInput
    from ferrule_hookspecs.store import RolloutRecord


_SKILL_BYTES: Final = 256 * 1024


class Conversation:
    """The history of one thread.

    Attributes:
        items: What the model sees.
        user_texts: What the user wrote, also where it was shortened away since.
        told: What the model was last told that its turns run under.
        first_told: The same as the thread began.
        prefix_length: How many items at the beginning are never rewritten.
        ledger: What was done.
        gauge: How full the context is.
        hears_changes: Whether the model is told what changes around the thread.
    """

    hears_changes: ClassVar[bool] = True

    def __init__(
        self,
        recorder: Recorder,
        items: Sequence[HistoryItem] = (),
        user_texts: Sequence[str] = (),
        told: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.items: list[HistoryItem] = list(items)
        self.user_texts: list[str] = list(user_texts)
        self.told = self.first_told = told
        self.prefix_length = 0
        self.ledger = Ledger()
        self.gauge = Gauge()
        recorder.listener = self.ledger.hear
        self._recorder = recorder
        self._open: dict[int, AnyCall] = {}
        self._answers: dict[int, CallAnswer] = {}

    def append(self, item: HistoryItem) -> None:
        """Store an item and put it at the end."""
        self._recorder.record_history(item)
        self.items.append(item)

    def remember(self, records: Sequence[RolloutRecord]) -> None:
        """Take up what a stored thread's records say beside the history."""
        self.prefix_length = stored_prefix_length(records, self.items)
        self.ledger.entries = stored_entries(records)
        self.gauge = stored_gauge(records)

    def take_input(self, content: Sequence[UserInput]) -> None:
        """Store what the user sent."""
        message = user_message(content)
        if message["content"]:
            self.append(message)
        for skill in skill_messages(content):
            self.append(skill)
        self.user_texts += input_texts(content)

    def begin_call(self, item: AnyCall) -> int:
        """Store a call; returns a key for its answer."""
        self.append(item)
        key = len(self.items)
        self._open[key] = item
        return key

    @property
    def has_open_calls(self) -> bool:
        """Whether a call waits for its output."""
        return bool(self._open)

    def end_call(self, key: int, output: CallAnswer) -> None:
        """Take the answer to a call; stored once everything before it is answered, too."""
        self._answers[key] = output
        while self._open and (first := next(iter(self._open))) in self._answers:
            self._answer(first, self._answers[first])

    def abort_open_calls(self, text: str) -> None:
        """Answer every open call: with what it gave, else with the text."""
        for key in list(self._open):
            self._answer(key, self._answers.get(key, text))

    def abort_unstored(self, text: str) -> None:
        """Do the same in memory, where nothing can be stored; reading the rollout does it, too."""
        for key, item in self._open.items():
            self.items.append(output_item(item, self._answers.get(key, text)))
        self._open.clear()
        self._answers.clear()

    def _answer(self, key: int, output: CallAnswer) -> None:
        self.append(output_item(self._open[key], output))
        del self._open[key]
        self._answers.pop(key, None)

    def replace(self, items: Sequence[HistoryItem], summary: str) -> None:
        """Put a shorter history in place of the whole one."""
        self._recorder.record("compacted", {"message": summary, "replacement_history": list(items)})
        self.items = list(items)


def input_texts(content: Sequence[UserInput]) -> list[str]:
    """Return the text of a user's input."""
    return [part["text"] for part in content if part["type"] == "text"]


def skill_messages(content: Sequence[UserInput]) -> list[MessageItem]:
    """Turn the skills a user named into messages, one each with the text of its file."""
    return [
        {"type": "message", "role": "user", "content": [_skill(part["name"], part["path"])]}
        for part in content
        if part["type"] == "skill"
    ]


def _skill(name: str, path: str) -> ContentPart:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            text = file.read(_SKILL_BYTES).decode(errors="replace")
    except OSError as error:
        text = f"The file could not be read: {error.strerror}."
    shown = f"<skill>\n<name>{name}</name>\n<path>{path}</path>\n{text}\n</skill>"
    return {"type": "input_text", "text": shown}


def _without_waiting(path: str, flags: int) -> int:
    """Open what may be a pipe that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def user_message(content: Sequence[UserInput]) -> MessageItem:
    """Turn a user's input into a message; images come before the text, each with its label."""
    parts: list[ContentPart] = []
    number = 0
    for each in content:
        if each["type"] == "image":
            number += 1
            parts += _image(f"<image name=[Image #{number}]>", each["url"], each.get("detail"))
        elif each["type"] == "localImage":
            number += 1
            parts += _local_image(number, each["path"], each.get("detail"))
    texts = input_texts(content)
    parts += [cast("ContentPart", {"type": "input_text", "text": text}) for text in texts]
    return {"type": "message", "role": "user", "content": parts}


def _local_image(number: int, path: str, detail: str | None) -> list[ContentPart]:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        text = f"The local image {path!r} could not be read: {error.strerror}."
        return [{"type": "input_text", "text": text}]
    import mimetypes

    kind = mimetypes.guess_type(path)[0] or "image/png"
    url = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return _image(f'<image name=[Image #{number}] path="{path}">', url, detail)


def _image(opening: str, url: str, detail: str | None) -> list[ContentPart]:
    return [
        {"type": "input_text", "text": opening},
        {"type": "input_image", "image_url": url, "detail": detail or "original"},
        {"type": "input_text", "text": "</image>"},
    ]
