"""The model's side of the conversation: Responses API items, the kernel's neutral history form.

A provider that speaks another API translates at its own edge. Items of other types are carried as
they came (cast to `HistoryItem`), so that a provider's private items survive a round trip.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

Role = Literal["developer", "system", "user", "assistant"]


class ContentPart(TypedDict):
    """A part of a message or of a tool's output."""

    type: Literal["input_text", "output_text", "input_image", "refusal", "summary_text"]
    text: NotRequired[str]
    image_url: NotRequired[str]
    detail: NotRequired[str]
    refusal: NotRequired[str]


class MessageItem(TypedDict):
    """A message to or from the model."""

    type: Literal["message"]
    role: Role
    content: list[ContentPart]
    id: NotRequired[str]
    phase: NotRequired[str]


class ReasoningHistoryItem(TypedDict):
    """Reasoning, to be sent back as it came."""

    type: Literal["reasoning"]
    id: NotRequired[str]
    summary: list[ContentPart]
    content: NotRequired[list[ContentPart] | None]
    encrypted_content: NotRequired[str | None]


class FunctionCallItem(TypedDict):
    """The model calls a function; `arguments` is JSON text."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: NotRequired[str]
    namespace: NotRequired[str]


class FunctionCallOutputItem(TypedDict):
    """The answer to a function call."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[ContentPart]


class CustomToolCallItem(TypedDict):
    """The model calls a freeform tool; `input` is plain text."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: NotRequired[str]


class CustomToolCallOutputItem(TypedDict):
    """The answer to a freeform call."""

    type: Literal["custom_tool_call_output"]
    call_id: str
    output: str | list[ContentPart]


CallItem = FunctionCallItem | CustomToolCallItem
CallOutputItem = FunctionCallOutputItem | CustomToolCallOutputItem
HistoryItem = MessageItem | ReasoningHistoryItem | CallItem | CallOutputItem
