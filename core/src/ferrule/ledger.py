"""What was done in a thread, kept by the harness and not by the model.

Commands with their exit codes, files that were read and edited with a hash of what they held then,
calls of other tools that may have changed something, the open steps of the plan. Every entry is a
record of the rollout, so that a resume finds the ledger as it was. Compaction puts it before the
model word for word; `ledger_text.py` writes it down.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal, TypedDict, cast

import anyio

from ferrule.containment import contained
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.events import Event, PlanStep
    from ferrule_hookspecs.items import ThreadItem
    from ferrule_hookspecs.store import RolloutRecord

KIND: Final = "ledger"
"""Type of the event record that holds an entry."""
_HEARD: Final = frozenset(
    {"item/completed", "turn/plan/updated", "thread/goal/updated", "thread/goal/cleared"}
)
_HASHED_BYTES: Final = 8 * 1024 * 1024
_HASHING_S: Final = 5.0
_LONGEST_TEXT: Final = 400
_HASH_DIGITS: Final = 12


class CommandEntry(TypedDict):
    """A command that was run; `exit` is None where it did not come to one."""

    kind: Literal["command"]
    text: str
    exit: int | None
    status: str


class FileEntry(TypedDict):
    """A file; `hash` is None where there is none to have: it is gone, or cannot be read."""

    kind: Literal["file"]
    path: str
    how: Literal["read", "edited", "added", "deleted"]
    hash: str | None


class CallEntry(TypedDict):
    """A call of any other tool that is not read-only."""

    kind: Literal["call"]
    text: str
    status: str


class PlanEntry(TypedDict):
    """The whole plan."""

    kind: Literal["plan"]
    steps: list[PlanStep]


class GoalEntry(TypedDict):
    """What the thread is to reach; `status` is empty once that was taken back."""

    kind: Literal["goal"]
    text: str
    status: str


Entry = CommandEntry | FileEntry | CallEntry | PlanEntry | GoalEntry


class Ledger:
    """The ledger of one thread.

    Attributes:
        entries: Oldest first.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = list(entries)
        self._heard: list[Event] = []
        self._pending: list[Entry] = []

    def hear(self, event: Event) -> None:
        """Take note of an event; it is entered with `settle`."""
        if event["method"] in _HEARD:
            self._heard.append(event)

    async def settle(self, parts: SessionParts) -> None:
        """Enter what was heard, files with what they hold now.

        What it does not come to, because it was cancelled, is entered the next time.
        """
        heard, self._heard = self._heard, []
        if parts.compactor is None:  # nobody will ask for it
            return
        self._pending += [entry for event in heard for entry in _entries(event, parts)]
        while self._pending:
            entry = self._pending[0]
            is_news = await self._is_news(entry, parts)
            if not self._pending or self._pending[0] is not entry:
                continue  # a call that ended meanwhile has entered it
            del self._pending[0]
            if is_news:
                self.entries.append(entry)
                parts.recorder.record("event_msg", {"type": KIND, "entry": entry})

    def whole(self, parts: SessionParts) -> list[Entry]:
        """The entries, and what still runs beside the turns; that is entered when it ends."""
        running = [
            entry for item in parts.recorder.pending_items() for entry in _of_item(item, parts)
        ]
        return [*self.entries, *running]

    async def _is_news(self, entry: Entry, parts: SessionParts) -> bool:
        if entry["kind"] == "goal":  # it is told again with all that is spent on it
            return entry != goal_of(self.entries)
        if entry["kind"] == "file" and entry["how"] != "deleted":
            return await _hash(entry, parts)
        return True


def stored_entries(records: Iterable[RolloutRecord]) -> list[Entry]:
    """Return the entries of a stored thread; those of turns that were taken back are left out."""
    entries: list[Entry] = []
    starts: list[int] = []
    for record in records:
        payload = record["payload"]
        match payload.get("type") if record["type"] == "event_msg" else None:
            case "task_started":
                starts.append(len(entries))
            case "rollback":
                count = payload.get("num_turns")
                if isinstance(count, int) and count > 0 and starts:
                    del entries[starts[-min(count, len(starts))] :]
                    del starts[-count:]
            case "ledger" if isinstance(payload.get("entry"), dict):
                entries.append(cast("Entry", payload["entry"]))
            case _:
                pass
    return entries


def _entries(event: Event, parts: SessionParts) -> list[Entry]:
    match event["method"]:
        case "item/completed":
            return _of_item(event["params"]["item"], parts)
        case "turn/plan/updated":
            return [{"kind": "plan", "steps": event["params"]["plan"]}]
        case "thread/goal/updated":
            goal = event["params"]["goal"]
            return [{"kind": "goal", "text": goal["objective"], "status": goal["status"]}]
        case "thread/goal/cleared":
            return [{"kind": "goal", "text": "", "status": ""}]
        case _:
            return []


def _of_item(item: ThreadItem, parts: SessionParts) -> list[Entry]:
    match item["type"]:
        case "commandExecution":
            entries: list[Entry] = [
                {
                    "kind": "command",
                    "text": _short(item["command"]),
                    "exit": item.get("exitCode"),
                    "status": item["status"],
                }
            ]
            if item["status"] == "completed":
                reads = [each for each in item["commandActions"] if each["type"] == "read"]
                entries += [_file(action["path"], "read") for action in reads]
            return entries
        case "fileChange":
            if item["status"] != "completed":
                return []
            return [
                entry
                for change in item["changes"]
                for entry in _changed(change["path"], cast("dict[str, object]", change["kind"]))
            ]
        case "imageView":
            return [_file(item["path"], "read")]
        case "mcpToolCall":
            return [_call(f"{item['server']}.{item['tool']}", item["arguments"], item["status"])]
        case "dynamicToolCall":
            tool = parts.tools.get(item["tool"])
            if tool is None or not tool.read_only:
                return [_call(item["tool"], item["arguments"], item["status"])]
            return _what_was_read(item["arguments"], parts) if item["status"] == "completed" else []
        case _:
            return []


def _changed(path: str, kind: Mapping[str, object]) -> list[Entry]:
    target = kind.get("move_path")
    if isinstance(target, str) and target:
        return [_file(path, "deleted"), _file(target, "edited")]
    how = {"add": "added", "delete": "deleted"}.get(str(kind.get("type")), "edited")
    return [_file(path, cast("Literal['added', 'deleted', 'edited']", how))]


def _what_was_read(arguments: object, parts: SessionParts) -> list[Entry]:
    """A path that a read-only tool was given is a file that was read."""
    if not isinstance(arguments, dict):
        return []
    path = cast("Mapping[str, object]", arguments).get("path")
    return [_file(os.path.join(parts.settings.cwd, path), "read")] if isinstance(path, str) else []


def _call(tool: str, arguments: object, status: str) -> CallEntry:
    from json import dumps

    given = dumps(arguments, ensure_ascii=False, default=str)
    return {"kind": "call", "text": _short(f"{tool} {given}"), "status": status}


def _short(text: str) -> str:
    """Cut a long text in its middle: a command may hold a whole file."""
    if len(text) <= _LONGEST_TEXT:
        return text
    half = _LONGEST_TEXT // 2
    return f"{text[:half]} [… {len(text) - 2 * half} characters …] {text[-half:]}"


def _file(path: str, how: Literal["read", "edited", "added", "deleted"]) -> FileEntry:
    return {"kind": "file", "path": path, "how": how, "hash": None}


async def _hash(entry: FileEntry, parts: SessionParts) -> bool:
    """Say what a file holds now; returns whether there is a file to speak of."""
    from hashlib import sha256

    from ferrule.attempt import confined

    try:
        with contained("the sandbox's access to files"), anyio.move_on_after(_HASHING_S):
            files, path = confined(parts).files, entry["path"]
            stat = await files.stat(path)
            if stat is not None and stat.kind != "file":
                return False
            if stat is not None and stat.size > _HASHED_BYTES:
                entry["hash"] = f"{stat.size} bytes"
            elif stat is not None:
                data = await files.read(path, limit=_HASHED_BYTES)
                entry["hash"] = sha256(data).hexdigest()[:_HASH_DIGITS]
    except FerruleError:  # the ledger then says less; what reads the file will say why
        pass
    return entry["hash"] is not None or entry["how"] != "read"


def goal_of(entries: Sequence[Entry]) -> GoalEntry | None:
    """Return the goal as it was last told of."""
    return next((each for each in reversed(entries) if each["kind"] == "goal"), None)


def plan_of(entries: Sequence[Entry]) -> Sequence[PlanStep]:
    """Return the plan as it was last written down."""
    return next((each["steps"] for each in reversed(entries) if each["kind"] == "plan"), ())
