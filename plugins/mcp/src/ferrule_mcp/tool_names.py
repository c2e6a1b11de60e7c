"""What models call the tools of MCP servers."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_LIMIT: Final = 64
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]")


def tool_name(server: str, tool: str) -> str:
    """Return a name that every model API takes; different tools get different names."""
    return _usable(f"mcp__{server}__{tool}")


def namespace_name(server: str) -> str:
    """Return a name for all tools of a server; different servers get different names."""
    return _usable(f"mcp__{server}")


def _usable(plain: str) -> str:
    name = _UNUSABLE.sub("_", plain)
    if name == plain and len(name) <= _LIMIT:
        return name
    mark = hashlib.sha256(plain.encode()).hexdigest()[:8]
    return f"{name[: _LIMIT - len(mark) - 1]}_{mark}"
