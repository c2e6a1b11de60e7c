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


class ToolSearchCallItem(TypedDict):
    """The model looks for tools in the API's own form; `execution` says who runs the search."""

    type: Literal["tool_search_call"]
    call_id: str
    arguments: dict[str, object]
    execution: NotRequired[Literal["client", "server"]]
    status: NotRequired[str]
    id: NotRequired[str]


class ToolSearchOutputItem(TypedDict):
    """What was found: definitions of tools, those with a namespace inside of it."""

    type: Literal["tool_search_output"]
    call_id: str
    status: Literal["completed"]
    execution: Literal["client"]
    tools: list[dict[str, object]]


CallItem = FunctionCallItem | CustomToolCallItem
CallOutputItem = FunctionCallOutputItem | CustomToolCallOutputItem
SearchItem = ToolSearchCallItem | ToolSearchOutputItem
HistoryItem = MessageItem | ReasoningHistoryItem | CallItem | CallOutputItem | SearchItem
AnyCall = CallItem | ToolSearchCallItem
CallAnswer = str | list[ContentPart] | ToolSearchOutputItem


def called_name(item: CallItem) -> str:
    """Return the name of the tool that a model called, with its namespace in front."""
    namespace = "" if item["type"] != "function_call" else item.get("namespace") or ""
    glue = "__" if namespace and not namespace.endswith("__") else ""
    return f"{namespace}{glue}{item['name']}"
