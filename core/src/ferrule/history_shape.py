"""Makes a stored history fit to be sent: every call has its output, every output its call.

A kill between a call and its output, a rollback or a lost line leaves a history that providers
refuse. Nothing of the mending is stored. Used by the transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Item = dict[str, object]

_OUTPUT_OF: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}
_OUTPUTS: Final = frozenset(_OUTPUT_OF.values())
_ABORTED: Final = "aborted"

_FOREIGN_KEY: Final = "internal_chat_message_metadata_passthrough"
"""What Codex notes in a stored item for itself."""
_TOOL_LIST: Final = "additional_tools"
"""An item in which Codex told the model its tools; a session of ours tells its own."""


def without_foreign_parts(items: Iterable[Mapping[str, object]]) -> Iterator[Item]:
    """Yield the items without what only Codex understands."""
    for item in items:
        if item.get("type") != _TOOL_LIST:
            yield {key: value for key, value in item.items() if key != _FOREIGN_KEY}


def pair_calls(items: Iterable[Item]) -> list[Item]:
    """Return the items with `aborted` put after calls without output, stray outputs dropped."""
    kept: list[Item] = []
    open_calls: dict[tuple[object, object], list[int]] = {}
    for item in items:
        type_, call_id = item.get("type"), item.get("call_id")
        if type_ in _OUTPUTS and not _is_hosted(item):
            waiting = open_calls.get((type_, call_id))
            if not waiting:
                continue
            waiting.pop(0)
        elif isinstance(type_, str) and type_ in _OUTPUT_OF and not _is_hosted(item):
            open_calls.setdefault((_OUTPUT_OF[type_], call_id), []).append(len(kept))
        kept.append(item)
    unanswered = {place for places in open_calls.values() for place in places}
    return [
        made
        for place, item in enumerate(kept)
        for made in ((item, _aborted(item)) if place in unanswered else (item,))
    ]


def _is_hosted(item: Item) -> bool:
    """Whether the provider itself runs the call, so that its answer is not ours to give."""
    return item.get("execution") == "server"


def _aborted(call: Item) -> Item:
    type_ = _OUTPUT_OF[str(call["type"])]
    answer: Item = {"type": type_, "call_id": call.get("call_id")}
    if type_ == "tool_search_output":
        nothing: Item = {"status": "completed", "execution": "client", "tools": []}
        return answer | nothing
    return answer | {"output": _ABORTED}
