"""What a tool was when it was approved: a server that changes it later is asked about again."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from ferrule_mcp.private_file import replace_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule_mcp.manifest import Manifest
    from ferrule_mcp.server_settings import ServerSettings

_NAME: Final = "mcp-approvals.json"
_NAMED: Final = 5
_JUDGED: Final = ("description", "inputSchema", "annotations", "title")
_WORDS: Final = {
    "description": "its description",
    "inputSchema": "its arguments",
    "annotations": "its hints",
    "title": "its title",
}


def fingerprint(offered: Mapping[str, object]) -> str:
    """Sum up everything about a tool that a person or a model judges it by."""
    text = json.dumps([offered.get(key) for key in _JUDGED], sort_keys=True, default=dict)
    return hashlib.sha256(text.encode()).hexdigest()


def changed_parts(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Name what two versions of a tool differ in."""
    return ", ".join(_WORDS[key] for key in _JUDGED if before.get(key) != now.get(key))


def changed_tools(before: Manifest | None, now: Manifest, settings: ServerSettings) -> str:
    """Name the offered tools that are not what they were, and what is new about each."""
    old = {} if before is None else {str(tool["name"]): tool for tool in before.tools}
    found: list[str] = []
    for tool in now.tools:
        name = str(tool["name"])
        if name in old and settings.offers(name) and (parts := changed_parts(old[name], tool)):
            found.append(f"{name} ({parts})")
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


class Pins:
    """Fingerprints of the approved tools of a home, in `mcp-approvals.json`."""

    def __init__(self, home: Path) -> None:
        self._file = home / _NAME
        self._known: dict[str, str] | None = None

    def get(self, server: str, tool: str) -> str | None:
        """Return what a tool was when it was approved; None where that is not known."""
        return self._read().get(_key(server, tool))

    def set(self, server: str, tool: str, print_: str) -> None:
        """Remember it; where nothing can be written, for as long as this session."""
        self._known = None  # another session may have added to it
        pins = self._read()
        if pins.get(_key(server, tool)) != print_:
            pins[_key(server, tool)] = print_
            with suppress(OSError):
                replace_private(self._file, json.dumps({"version": 1, "tools": pins}, indent=1))

    def _read(self) -> dict[str, str]:
        if self._known is None:
            try:
                value: object = json.loads(self._file.read_bytes())
            except (OSError, ValueError):
                value = {}
            tools = cast("dict[str, object]", value).get("tools") if isinstance(value, dict) else {}
            table = cast("dict[str, object]", tools) if isinstance(tools, dict) else {}
            self._known = {key: str(each) for key, each in table.items()}
        return self._known


def _key(server: str, tool: str) -> str:
    return json.dumps([server, tool])
