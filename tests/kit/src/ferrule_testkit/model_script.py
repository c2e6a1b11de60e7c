"""What a scripted model says: turns, and the wire events they become.

A script is a list of turns, or a table with `turns` and with `routes`: lists of turns for requests
that contain a given text. A turn is a list of output items, or a `Turn` table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypedDict, cast

Event = dict[str, object]
Item = dict[str, object]
Pause = float
Step = Event | Pause | str

_WORDS: Final = re.compile(r"\S+\s*|\s+")
_FOUND_IN_REQUEST: Final = re.compile(r"\{\{re:(.*?)\}\}")
_EXHAUSTED: Final[Item] = {
    "type": "message",
    "id": "m_end",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "(script exhausted)"}],
}
DEFAULT_USAGE: Final[dict[str, object]] = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 50},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}


class ManyDeltas(TypedDict, total=False):
    """A long message: `count` deltas of `text`, `per_chunk` of them in one HTTP chunk."""

    count: int
    text: str
    per_chunk: int


class Turn(TypedDict, total=False):
    """One answer.

    `items` are output items, numbers among them pauses in seconds; `events` replaces everything by
    raw events, or texts sent as they are. `status`, `body` and `headers` answer without a stream.
    `delay` waits before the answer, `item_delay` before each item, `delta_delay` after each text
    delta. `drop` closes the connection without an answer, `cut_after` after that many events,
    `hang` leaves the stream open. `no_completed`, `failed` and `incomplete` end the stream
    otherwise than well. `close` ends a WebSocket with that code. `times` repeats the turn. In items
    `{{re:PATTERN}}` stands for group 1 of its last match in the request's input.
    """

    items: list[Item | Pause]
    events: list[Step]
    deltas: ManyDeltas
    status: int
    body: object
    headers: Mapping[str, str]
    delay: float
    item_delay: float
    delta_delay: float
    drop: bool
    close: int
    cut_after: int
    hang: bool
    no_completed: bool
    failed: Mapping[str, object]
    incomplete: str
    usage: Mapping[str, object]
    end_turn: bool
    times: int


class Wire(NamedTuple):
    """How one model API spells a turn.

    Attributes:
        steps: Spells a turn out; the number is that of the request.
        encode: Writes one event, or a text as it is, as a server-sent event.
        refuse: Checks a request's body and headers; gives status and body where it is malformed.
    """

    steps: Callable[[Turn, int], Iterator[Step]]
    encode: Callable[[Event | str], bytes]
    refuse: Callable[[bytes, Mapping[str, str]], tuple[int, object] | None] | None = None


class Route(TypedDict):
    """Turns for the requests whose body contains a text."""

    contains: str
    turns: list[object]


class Script:
    """Hands out the turns, in order."""

    def __init__(self, script: object) -> None:
        """Take a script as it stands in a JSON file."""
        table = cast("Mapping[str, object]", script if isinstance(script, dict) else {})
        plain = table.get("turns", []) if isinstance(script, dict) else script
        routes = cast("list[Route]", table.get("routes", []))
        self.models = table.get("models")
        self._queues: list[tuple[str | None, list[Turn]]] = [
            (route["contains"], _expand(route["turns"])) for route in routes
        ]
        self._queues.append((None, _expand(cast("Sequence[object]", plain))))
        self._turns = [turn for _, turns in self._queues for turn in turns]  # keeps the ids taken
        self._written: dict[tuple[int, Wire], bytes] = {}
        for turn in self._turns:
            self.written_out(turn, RESPONSES)

    def written_out(self, turn: Turn, wire: Wire) -> bytes | None:
        """The whole stream of a turn with `deltas`; for Responses it is made beforehand."""
        if "deltas" not in turn:
            return None
        key = (id(turn), wire)
        if key not in self._written:
            self._written[key] = _write_out(turn, wire)
        return self._written[key]

    def next_turn(self, body: str) -> Turn:
        """Take the next turn for a request."""
        for contains, turns in self._queues:
            if turns and (contains is None or contains in body):
                return _filled(turns.pop(0), body)
        return {"items": [_EXHAUSTED]}


def _expand(turns: Sequence[object]) -> list[Turn]:
    expanded: list[Turn] = []
    for given in turns:
        turn = cast("Turn", given if isinstance(given, dict) else {"items": given})
        expanded += [turn] * turn.get("times", 1)
    return expanded


def _filled(turn: Turn, body: str) -> Turn:
    text = json.dumps(turn) if "deltas" not in turn else ""
    if "{{re:" not in text:
        return turn
    request = json.loads(body)
    said = "\n".join(_texts(request.get("input") or request.get("messages")))

    def fill(place: re.Match[str]) -> str:
        found: list[str] = re.findall(json.loads(f'"{place[1]}"'), said)
        return json.dumps(found[-1] if found else "NOMATCH")[1:-1]

    return cast("Turn", json.loads(_FOUND_IN_REQUEST.sub(fill, text)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)


def steps_of(turn: Turn, number: int) -> Iterator[Step]:
    """Spell a turn out as wire events and pauses."""
    if "events" in turn:
        yield from turn["events"]
        return
    response_id = f"resp_{number}"
    yield {"type": "response.created", "response": {"id": response_id}}
    if "deltas" in turn:
        yield from _many_deltas(turn["deltas"])
    for index, item in enumerate(turn.get("items", [])):
        if not isinstance(item, dict):
            yield item
            continue
        if "item_delay" in turn:
            yield turn["item_delay"]
        yield from _item_steps(item, index, turn.get("delta_delay"))
    if not (turn.get("hang") or turn.get("no_completed")):
        yield _last_event(turn, response_id)


def _item_steps(item: Item, index: int, pause: Pause | None) -> Iterator[Step]:
    place: Event = {"item_id": item.get("id"), "output_index": index, "content_index": 0}
    is_message = item["type"] == "message"
    added = {**item, "content": []} if is_message else item
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    if is_message:
        parts = cast("list[dict[str, str]]", item["content"])
        for delta in _WORDS.findall("".join(part.get("text", "") for part in parts)):
            yield {
                "type": "response.output_text.delta",
                **place,
                "content_index": 0,
                "delta": delta,
            }
            if pause:
                yield pause
    elif item["type"] == "reasoning":
        for number, part in enumerate(cast("list[dict[str, str]]", item.get("summary", []))):
            place["summary_index"] = number
            yield {"type": "response.reasoning_summary_part.added", **place}
            yield {
                "type": "response.reasoning_summary_text.delta",
                **place,
                "delta": part["text"],
            }
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _many_deltas(deltas: ManyDeltas) -> Iterator[Event]:
    text, count = deltas.get("text", "word "), deltas.get("count", 20_000)
    item: Item = {"type": "message", "id": "msg_many", "role": "assistant", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    delta: Event = {
        "type": "response.output_text.delta",
        "item_id": "msg_many",
        "output_index": 0,
        "content_index": 0,
        "delta": text,
    }
    for _ in range(count):
        yield delta
    done = {**item, "content": [{"type": "output_text", "text": text * count}]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": done}


def _last_event(turn: Turn, response_id: str) -> Event:
    if "failed" in turn:
        failed = {"id": response_id, "status": "failed", "error": turn["failed"]}
        return {"type": "response.failed", "response": failed}
    if "incomplete" in turn:
        incomplete: Event = {"id": response_id, "status": "incomplete"}
        incomplete["incomplete_details"] = {"reason": turn["incomplete"]}
        return {"type": "response.incomplete", "response": incomplete}
    response: Event = {"id": response_id, "output": []}
    response["usage"] = {**DEFAULT_USAGE, **turn.get("usage", {})}
    if "end_turn" in turn:
        response["end_turn"] = turn["end_turn"]
    return {"type": "response.completed", "response": response}


def _write_out(turn: Turn, wire: Wire) -> bytes:
    steps = wire.steps(turn, 1)
    pieces = [wire.encode(step) for step in steps if not isinstance(step, float | int)]
    per_chunk = turn.get("deltas", {}).get("per_chunk", 1)
    groups = range(0, len(pieces), per_chunk)
    chunks = [http_chunk(b"".join(pieces[start : start + per_chunk])) for start in groups]
    return b"".join(chunks) + b"0\r\n\r\n"


def http_chunk(data: bytes) -> bytes:
    """Wrap bytes as a chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def wire_of(event: Event | str) -> bytes:
    """Write one event as a server-sent event."""
    if isinstance(event, str):
        return event.encode()
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


RESPONSES: Final = Wire(steps_of, wire_of)
