"""Names and ids as the Messages API allows them: letters, digits, `_` and `-`.

Every name maps to one on the wire by itself, so a call in the history keeps its name although the
tool is no longer offered; what comes back is looked up among the tools that are.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.tools import FreeformSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.tools import ToolSchema

_FORBIDDEN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 128


class OfferedTools:
    """The tools of one request, found by their names on the wire."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        """Take the tools that are offered."""
        self._by_wire_name = {wire_name(tool.name): tool for tool in tools}

    def name(self, name: str) -> str:
        """The tool's own name; one that was not offered stays as the model wrote it."""
        tool = self._by_wire_name.get(name)
        return tool.name if tool else name

    def is_freeform(self, name: str) -> bool:
        """Whether the tool takes plain text."""
        return isinstance(self._by_wire_name.get(name), FreeformSchema)


def wire_name(name: str) -> str:
    """A tool's name on the wire: its own where it is allowed, else one that is unlike any other."""
    allowed = _FORBIDDEN.sub("_", name)
    if allowed == name and 0 < len(name) <= _LONGEST_NAME:
        return name
    mark = f"_{zlib.crc32(name.encode('utf-8', 'replace')):08x}"
    return allowed[: _LONGEST_NAME - len(mark)] + mark


class CallIds:
    """Gives every call of a request an id of its own; the same history gives the same ids."""

    def __init__(self) -> None:
        """Start with no call."""
        self._taken: set[str] = set()

    def take(self, call_id: str) -> str:
        """The id of the next call: its own where it is allowed and free."""
        wanted = _FORBIDDEN.sub("_", call_id) or "call"
        free, number = wanted, 1
        while free in self._taken:
            number += 1
            free = f"{wanted}_{number}"
        self._taken.add(free)
        return free
