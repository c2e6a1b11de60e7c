"""Reduces a conversation with an earlier `codex app-server` to what its client relied on.

    python tests/e2e/app_server/earlier/reduce.py RECORDED.jsonl > VERSION/NAME.json

RECORDED comes from `drive_app_server.py run --server "OLDER_CODEX app-server"`. What stays is what
the client sent, ids of the server replaced by names, and for each of its messages what it had seen
by then: which requests were answered with which members, and how often which notification.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
WORKSPACE = re.compile(r"/[\w./-]*?/ws\b")
AWAITED = {"turn/started", "turn/completed", "thread/started"}


def members(value: object, path: str = "", depth: int = 4) -> set[str]:
    """The paths of all members that hold something; the elements of a list count as one."""
    found: set[str] = set()
    if depth and isinstance(value, dict):
        for key, inner in value.items():
            if inner not in (None, "", [], {}):
                found |= {f"{path}.{key}"} | members(inner, f"{path}.{key}", depth - 1)
    elif isinstance(value, list):
        for inner in value:
            found |= members(inner, f"{path}[]", depth)
    return found


def places(value: object, path: tuple[object, ...] = ()) -> dict[str, list[object]]:
    """Where in a reply which id of the server stands first."""
    found: dict[str, list[object]] = {}
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in pairs:
        for each, place in places(inner, (*path, key)).items():
            found.setdefault(each, place)
    if isinstance(value, str) and UUID.fullmatch(value):
        found[value] = list(path)
    return found


def reduce(lines: list[str]) -> list[dict[str, object]]:
    """Return the client's messages, each with what it had seen before."""
    names: dict[str, str] = {}
    steps: list[dict[str, object]] = []
    seen: Counter[str] = Counter()
    replies: dict[str, object] = {}
    for line in lines:
        entry = json.loads(line)
        message = entry.get("msg")
        if message is None:
            continue
        if entry["dir"] == "s>c":
            if "method" in message:
                item = message.get("params", {}).get("item", {}).get("type", "")
                if message["method"] in AWAITED or item == "commandExecution":
                    seen[f"{message['method']} {item}".strip()] += 1
                elif "id" in message:
                    seen["?" + message["method"]] += 1
            elif "result" in message:
                fresh = {k: p for k, p in places(message["result"]).items() if k not in names}
                names |= {each: f"@id{len(names) + n}" for n, each in enumerate(fresh)}
                replies[str(message["id"])] = {
                    "members": sorted(members(message["result"])),
                    "names": {names[each]: place for each, place in fresh.items()},
                }
            elif "error" in message:
                replies[str(message["id"])] = "error"
            continue
        text = WORKSPACE.sub("@ws", json.dumps(message))
        for each, name in names.items():
            text = text.replace(each, name)
        steps.append({"after": dict(seen), "replies": replies, "send": json.loads(text)})
        replies = {}
    steps.append({"after": dict(seen), "replies": replies})
    return steps


if __name__ == "__main__":
    json.dump(reduce(Path(sys.argv[1]).read_text().splitlines()), sys.stdout, indent=1)
