"""What a server offered when it last ran, kept so that a session need not wait for it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final, cast

from ferrule_mcp.private_file import replace_private

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_VERSION: Final = 1
_SIZE_LIMIT: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Manifest:
    """The offer of a server, in the wire form of the protocol.

    Attributes:
        tools: Its tools, sorted by name.
        server_info: What it says of itself.
        capabilities: What it can do.
        instructions: What it says about its use.
    """

    tools: Sequence[Mapping[str, object]] = ()
    server_info: Mapping[str, object] = field(default_factory=dict[str, object])
    capabilities: Mapping[str, object] = field(default_factory=dict[str, object])
    instructions: str = ""

    @property
    def has_resources(self) -> bool:
        """Whether it has resources to read."""
        return "resources" in self.capabilities

    @property
    def has_prompts(self) -> bool:
        """Whether it has prompts to choose from."""
        return "prompts" in self.capabilities

    def tool(self, name: str) -> Mapping[str, object] | None:
        """Return what is known about a tool."""
        return next((tool for tool in self.tools if tool["name"] == name), None)


def read_manifest(home: Path, key: str) -> Manifest | None:
    """Return what is remembered; a damaged file counts as nothing."""
    try:
        with _file(home, key).open("rb") as file:
            value: object = json.loads(file.read(_SIZE_LIMIT))
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    table = cast("dict[str, object]", value)
    tools = table.get("tools")
    if table.pop("version", None) != _VERSION or not isinstance(tools, list):
        return None
    given = cast("list[object]", tools)
    if not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in given):
        return None
    return Manifest(
        cast("Sequence[Mapping[str, object]]", given),
        _table(table.get("server_info")),
        _table(table.get("capabilities")),
        str(table.get("instructions") or ""),
    )


def write_manifest(home: Path, key: str, manifest: Manifest) -> None:
    """Remember; where nothing can be written, the next session waits for the server instead."""
    text = json.dumps({"version": _VERSION, **asdict(manifest)}, ensure_ascii=True, default=dict)
    with suppress(OSError):
        replace_private(_file(home, key), text)


def _file(home: Path, key: str) -> Path:
    return home / "cache" / "mcp" / f"{key}.json"


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
