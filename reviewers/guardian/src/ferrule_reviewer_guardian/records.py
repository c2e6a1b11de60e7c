"""The thread as the reviewing model sees it: records that say where each text comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from ferrule_consult.text import cut, json_line, tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ferrule_hookspecs.history import ContentPart, HistoryItem

Origin = Literal["user", "agent", "agent_call", "tool_output", "context"]

_ENTRY: Final = {"user": 5_000, "agent": 1_000, "context": 1_000}
_TOOL_ENTRY: Final = 1_000
_USER_TOTAL: Final = 10_000
_OTHER_TOTAL: Final = 10_000


class Record(NamedTuple):
    """One text of the thread."""

    number: int
    origin: Origin
    text: str
    tool: str = ""


class Shown(NamedTuple):
    """Records as lines; whether all of the user's words are among them."""

    lines: tuple[str, ...]
    has_all_user_texts: bool


def records(
    history: Sequence[HistoryItem], user_texts: Collection[str], *, first: int = 0
) -> Iterator[Record]:
    """Yield what a history says, from an item on; instructions of the harness are left out."""
    tools: dict[str, str] = {}
    for number, item in enumerate(history):
        if "call_id" in item and "name" in item:
            tools[item["call_id"]] = item["name"]
        if number >= first:
            yield from _of_item(item, number, user_texts, tools)


def earlier(history: Sequence[HistoryItem], user_texts: Sequence[str]) -> Iterator[Record]:
    """Yield the user's words that the history no longer holds, as after it was shortened."""
    held = {
        text
        for item in history
        if item["type"] == "message" and item["role"] == "user"
        for text in _texts(item)
    }
    for number, text in enumerate(user_texts):
        if text not in held:
            yield Record(number - len(user_texts), "user", text)


def shown(found: Sequence[Record]) -> Shown:
    """Fit records into the budgets: of the user's words the first and the newest stay."""
    users = [record for record in found if record.origin == "user"]
    others = [record for record in found if record.origin != "user"]
    cuts = {record: cut(record.text, _limit(record)) for record in found}
    lines = {record: _line(record, cuts[record].text) for record in found}
    kept = _newest(users[1:], lines, _USER_TOTAL - sum(tokens(lines[u]) for u in users[:1]))
    kept |= {*users[:1], *_newest(others, lines, _OTHER_TOTAL)}
    is_whole = all(user in kept and cuts[user].is_whole for user in users)
    return Shown(tuple(_with_notes(found, lines, kept)), is_whole)


def _newest(found: Sequence[Record], lines: dict[Record, str], room: int) -> set[Record]:
    kept: set[Record] = set()
    for record in reversed(found):
        room -= tokens(lines[record])
        if room < 0:
            break
        kept.add(record)
    return kept


def _with_notes(
    found: Sequence[Record], lines: dict[Record, str], kept: set[Record]
) -> Iterator[str]:
    missing = 0
    for record in found:
        if record not in kept:
            missing += 1
            continue
        if missing:
            yield json_line({"note": f"{missing} records left out here for their length"})
            missing = 0
        yield lines[record]
    if missing:
        yield json_line({"note": f"{missing} records left out here for their length"})


def _limit(record: Record) -> int:
    return _ENTRY.get(record.origin, _TOOL_ENTRY)


def _line(record: Record, text: str) -> str:
    fields: dict[str, object] = {"n": record.number, "origin": record.origin}
    if record.tool:
        fields["tool"] = record.tool[:100]
    return json_line({**fields, "text": text})


def _of_item(
    item: HistoryItem, number: int, user_texts: Collection[str], tools: dict[str, str]
) -> Iterator[Record]:
    match item["type"]:
        case "message":
            if item["role"] in ("developer", "system"):
                return
            for text in _texts(item):
                origin: Origin = "agent"
                if item["role"] == "user":
                    origin = "user" if text in user_texts else "context"
                yield Record(number, origin, text)
        case "function_call":
            yield Record(number, "agent_call", item["arguments"], item["name"])
        case "custom_tool_call":
            yield Record(number, "agent_call", item["input"], item["name"])
        case "function_call_output" | "custom_tool_call_output":
            output = item["output"]
            text = output if isinstance(output, str) else "\n".join(_parts(output))
            yield Record(number, "tool_output", text, tools.get(item["call_id"], ""))
        case _:
            return


def _texts(item: HistoryItem) -> list[str]:
    return _parts(cast("list[ContentPart]", item.get("content") or []))


def _parts(content: Sequence[ContentPart]) -> list[str]:
    return [part["text"] for part in content if "text" in part]
