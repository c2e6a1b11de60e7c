"""The history as chat messages, well formed for servers that insist on it.

Every call is followed by its output before anything else comes, calls that stand side by side share
one message, instructions stand first. What the vendor wants otherwise is told by its quirks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final, cast

from ferrule_chat.functions import called_function

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_chat.quirks import Quirks
    from ferrule_hookspecs.history import (
        CallItem,
        ContentPart,
        HistoryItem,
        MessageItem,
        ReasoningHistoryItem,
    )

Message = dict[str, object]

UNANSWERED: Final = "(interrupted: the call ended before it gave an output)"
NO_OUTPUT: Final = "(no output)"
_IMAGES_FOLLOW: Final = "(images follow in the next message)"
_IMAGE_LABEL: Final = "Images from the output of {name}:"
_NO_IMAGES: Final = "(an image was left out: the model does not read images)"
_BRIDGE: Final = "(going on)"
_DETAILS: Final = ("low", "high", "auto")


def chat_messages(
    history: Iterable[HistoryItem], quirks: Quirks, *, has_vision: bool = True
) -> list[Message]:
    """Translate a history, oldest first."""
    return _Writer(quirks, has_vision=has_vision).write(list(history))


class _Draft:
    """A message of the assistant in the making."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.reasoning: list[str] = []
        self.extra: Message = {}
        self.calls: list[CallItem] = []
        self.is_answered = False


class _Writer:
    """Writes the messages of one request."""

    def __init__(self, quirks: Quirks, *, has_vision: bool) -> None:
        self._quirks = quirks
        self._has_vision = has_vision
        self._messages: list[Message] = []
        self._draft = _Draft()
        self._outputs: dict[str, deque[str | list[ContentPart]]] = defaultdict(deque)

    def write(self, history: Sequence[HistoryItem]) -> list[Message]:
        for item in history:
            if item["type"] == "function_call_output" or item["type"] == "custom_tool_call_output":
                self._outputs[item["call_id"]].append(item["output"])
        for item in history:
            self._take(item)
        self._flush()
        return self._messages

    def _take(self, item: HistoryItem) -> None:
        match item["type"]:
            case "message" if item["role"] != "assistant":
                if content := self._content(item["content"]):
                    self._flush()
                    self._say(self._role_of(item), content)
            case "message":
                self._begun().texts.append(_text_of(item["content"]))
            case "reasoning":
                self._reason(item)
            case "function_call" | "custom_tool_call":
                self._begun().calls.append(item)
            case "function_call_output" | "custom_tool_call_output":
                self._draft.is_answered = True
            case _:
                pass  # what another provider did by itself means nothing to this one

    def _begun(self) -> _Draft:
        """The message the assistant is writing; outputs end the one before."""
        if self._draft.is_answered:
            self._flush()
        return self._draft

    def _reason(self, item: ReasoningHistoryItem) -> None:
        draft = self._begun()
        draft.reasoning.append(_text_of(item.get("content") or []))
        table = cast("Mapping[str, object]", item)
        for key in self._quirks.echo_fields:
            if isinstance(details := table.get(key), list):
                before = cast("list[object]", draft.extra.get(key, []))
                draft.extra[key] = [*before, *cast("list[object]", details)]

    def _role_of(self, item: MessageItem) -> str:
        if item["role"] == "user":
            return "user"
        begun = any(message["role"] in ("user", "assistant") for message in self._messages)
        return self._quirks.late_instructions_role if begun else self._quirks.instructions_role

    def _say(self, role: str, content: str | list[Message]) -> None:
        last = self._messages[-1] if self._messages else None
        if last is not None and last["role"] == role and self._quirks.merge_messages:
            last["content"] = _joined(cast("str | list[Message]", last["content"]), content)
            return
        if last is not None and last["role"] == "tool" and self._quirks.bridge_tool_to_user:
            self._messages.append({"role": "assistant", "content": _BRIDGE})
        self._messages.append({"role": role, "content": content})

    def _flush(self) -> None:
        draft, self._draft = self._draft, _Draft()
        text = "\n\n".join(filter(None, draft.texts))
        if not (text or draft.calls):
            return
        message: Message = {"role": "assistant", "content": text or None}
        reasoning = "\n\n".join(filter(None, draft.reasoning))
        field = self._quirks.reasoning_back
        # Beside a plain answer nobody wants it: DeepSeek's R1 refuses it, templates drop it.
        if field and draft.calls and (reasoning or self._quirks.reasoning_back_always):
            message[field] = reasoning
        message |= draft.extra
        if draft.calls:
            message["tool_calls"] = [self._call(item) for item in draft.calls]
        self._messages.append(message)
        self._answer(draft.calls)

    def _call(self, item: CallItem) -> Message:
        table = cast("Mapping[str, object]", item)
        extra = {key: table[key] for key in self._quirks.echo_fields if key in table}
        function = called_function(item)
        return {"id": self._id(item), "type": "function", "function": function, **extra}

    def _answer(self, calls: Sequence[CallItem]) -> None:
        images: list[Message] = []
        for item in calls:
            outputs = self._outputs[item["call_id"]]
            content, seen = self._output(outputs.popleft() if outputs else UNANSWERED)
            message: Message = {"role": "tool", "tool_call_id": self._id(item), "content": content}
            self._messages.append(message)
            if seen:
                label = _IMAGE_LABEL.format(name=item["name"])
                images += [{"type": "text", "text": label}, *seen]
        if images:
            self._say("user", images)

    def _output(self, output: str | list[ContentPart]) -> tuple[str | list[Message], list[Message]]:
        """The content of a tool's message, and the images that must follow elsewhere."""
        if isinstance(output, str):
            return output or NO_OUTPUT, []
        content = self._content(output)
        if isinstance(content, str) or self._quirks.tool_images == "tool":
            return content or NO_OUTPUT, []
        texts = [str(part["text"]) for part in content if part["type"] == "text"]
        images = [part for part in content if part["type"] != "text"]
        return "\n".join(texts) or _IMAGES_FOLLOW, images

    def _content(self, parts: Sequence[ContentPart]) -> str | list[Message]:
        if not any(part["type"] == "input_image" for part in parts):
            return _text_of(parts)
        if not self._has_vision:
            texts = [part.get("text") or _NO_IMAGES for part in parts]
            return "\n".join(texts)
        return [_part(part) for part in parts]

    def _id(self, item: CallItem) -> str:
        return _short_id(item["call_id"]) if self._quirks.short_call_ids else item["call_id"]


def _text_of(parts: Sequence[ContentPart]) -> str:
    return "\n".join(part.get("text") or part.get("refusal") or "" for part in parts)


def _part(part: ContentPart) -> Message:
    if part["type"] != "input_image":
        return {"type": "text", "text": part.get("text", "")}
    image = {"url": part.get("image_url", "")}
    if (detail := part.get("detail")) in _DETAILS:
        image["detail"] = cast("str", detail)
    return {"type": "image_url", "image_url": image}


def _joined(first: str | list[Message], second: str | list[Message]) -> str | list[Message]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: str | list[Message]) -> list[Message]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _short_id(call_id: str) -> str:
    """Make an id of nine letters and digits, the same one every time."""
    if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
        return call_id
    from hashlib import blake2b

    return blake2b(call_id.encode("utf-8", "replace"), digest_size=5).hexdigest()[:9]
