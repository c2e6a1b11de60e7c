"""How long implementations of hooks take, kept for `ferrule plugins doctor`.

The dispatcher tells of every call; the last few of each are written when the last open thread is
closed, to `$FERRULE_HOME/cache/hook-times.json`. A crash loses those since then.
"""

from __future__ import annotations

import json
import math
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ferrule.entry import Entry

_FORMAT: Final = 1
_KEPT: Final = 64
_MOST_ROWS: Final = 512

Key = tuple[str, str, str]
"""Distribution, plugin and hook."""


class HookTime(NamedTuple):
    """How long one implementation takes.

    Attributes:
        hook: The hook.
        times_ms: The last calls.
        limit_ms: Its deadline.
    """

    hook: str
    times_ms: tuple[float, ...]
    limit_ms: float

    @property
    def p95_ms(self) -> float:
        """What 95 of 100 calls do not exceed."""
        return sorted(self.times_ms)[math.ceil(0.95 * len(self.times_ms)) - 1]


class HookTimes:
    """The times of one process."""

    def __init__(self) -> None:
        """Start with nothing measured."""
        self._rows: dict[Key, tuple[str, float, deque[float]]] = {}

    def add(self, entry: Entry, hook: str, seconds: float, limit_s: float) -> None:
        """Remember one call; the oldest gives way."""
        key = entry.distribution, entry.name, hook
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = entry.version, limit_s, deque(maxlen=_KEPT)
        row[2].append(seconds)

    def save(self, home: Path) -> None:
        """Add what was measured to the file; one that cannot be written only costs knowledge."""
        if not self._rows:
            return
        from ferrule.cache_file import replace_cache

        path = times_file(home)
        rows = _read(path)
        for key, (version, limit_s, seconds) in self._rows.items():
            name = "|".join(key)
            old = rows.pop(name, None)
            before = cast("list[float]", old["ms"]) if old and old["version"] == version else []
            times = [*before, *(round(1000 * each, 3) for each in seconds)][-_KEPT:]
            rows[name] = {"version": version, "limitMs": 1000 * limit_s, "ms": times}
        self._rows.clear()
        newest = dict(list(rows.items())[-_MOST_ROWS:])
        replace_cache(path, json.dumps({"format": _FORMAT, "rows": newest}))


MEASURED: Final = HookTimes()
"""The times of this process, whichever configuration a dispatcher was made for."""


def times_file(home: Path) -> Path:
    """Return where times are kept."""
    return home / "cache" / "hook-times.json"


def hook_times(entry: Entry, rows: Mapping[str, Mapping[str, object]]) -> tuple[HookTime, ...]:
    """Pick from what was read the times of one entry in its present version."""
    found: list[HookTime] = []
    for hook in entry.hooks:
        row = rows.get(f"{entry.distribution}|{entry.name}|{hook}")
        if row is not None and row["version"] == entry.version and row["ms"]:
            times = tuple(cast("Iterable[float]", row["ms"]))
            found.append(HookTime(hook, times, cast("float", row["limitMs"])))
    return tuple(found)


def read_times(home: Path) -> Mapping[str, Mapping[str, object]]:
    """Read all times; what cannot be understood counts as never measured."""
    return _read(times_file(home))


def _read(path: Path) -> dict[str, Mapping[str, object]]:
    try:
        document = cast("Mapping[str, object]", json.loads(path.read_bytes()))
        rows = cast("dict[str, Mapping[str, object]]", document["rows"])
        is_known = document["format"] == _FORMAT
        return {name: row for name, row in rows.items() if is_known and _is_sound(row)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _is_sound(row: Mapping[str, object]) -> bool:
    times = row["ms"]
    return (
        isinstance(row["version"], str)
        and isinstance(row["limitMs"], int | float)
        and isinstance(times, list)
        and all(isinstance(each, int | float) for each in cast("list[object]", times))
    )
