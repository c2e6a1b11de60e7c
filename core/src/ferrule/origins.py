"""Remembers how each plugin's distribution looked when it was first seen.

`$FERRULE_HOME/origins.json` holds one record per distribution; a later look that differs is shown
to the user. Called when the index is rebuilt.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict, cast

from ferrule.home_file import home_of, replace_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ferrule.entry import Entry


class Origin(TypedDict):
    """How a distribution looked when it was first seen."""

    version: str
    record_hash: str
    location: str
    is_editable: bool
    first_seen: str


def with_origins(entries: Sequence[Entry], environ: Mapping[str, str]) -> list[Entry]:
    """Add to each entry when its distribution was first seen and what has changed since."""
    path = home_of(environ) / "origins.json"
    try:
        origins = _read(path)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        mend = "mend or remove it, then: ferrule plugins refresh"
        text = f"nobody knows: {path} cannot be read ({error}); {mend}"
        return [entry._replace(changed=text) for entry in entries]
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    unknown = {entry.distribution: entry for entry in entries if entry.distribution not in origins}
    for name, entry in unknown.items():
        origins[name] = {
            "version": entry.version,
            "record_hash": entry.record_hash,
            "location": entry.location,
            "is_editable": entry.is_editable,
            "first_seen": now,
        }
    if unknown:
        _write(path, origins)
    return [
        entry._replace(
            first_seen=origins[entry.distribution]["first_seen"],
            changed=_difference(origins[entry.distribution], entry),
        )
        for entry in entries
    ]


def _difference(origin: Origin, entry: Entry) -> str:
    if origin["version"] != entry.version:
        return f"version was {origin['version']}"
    if origin["is_editable"] != entry.is_editable:
        return "is now editable" if entry.is_editable else "was editable"
    if origin["record_hash"] != entry.record_hash and not entry.is_editable:
        return "contents differ"
    return ""


def _read(path: Path) -> dict[str, Origin]:
    """Read all records; a file that is damaged is kept for whoever mends it."""
    try:
        origins = cast("dict[str, Origin]", json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return {}
    for origin in origins.values():
        if not Origin.__required_keys__ <= origin.keys():
            raise ValueError("a record is not complete")
    return origins


def _write(path: Path, origins: Mapping[str, Origin]) -> None:
    with suppress(OSError):  # a home that cannot be written only means that changes go unnoticed
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_text(path, json.dumps(origins, indent=1, sort_keys=True))
