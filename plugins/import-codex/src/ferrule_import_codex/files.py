"""Brings single files over: rules, skills, prompts, AGENTS.md and hooks, byte for byte."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_import_codex.report import Area, Finding, Status
from ferrule_import_codex.source import CodexHome, Entry, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST: Final = 16 << 20
_MOST_FILES: Final = 20_000
_NOT_READ_YET: Final = "no installed part reads it yet"


@dataclass(frozen=True, slots=True)
class FileCopier:
    """Copies files of a Codex home into `$FERRULE_HOME`.

    Attributes:
        source: Where they come from.
        target: `$FERRULE_HOME`.
        overwrite: Replace files of the same name; the old one is kept beside it.
        dry_run: Write nothing.
        parts: Names of the installed plugins, which decide whether a file is read.
    """

    source: CodexHome
    target: Path
    overwrite: bool
    dry_run: bool
    parts: frozenset[str]

    def rules(self) -> Iterator[Finding]:
        """Copy `rules/*.rules`."""
        for entry in self._entries("rules"):
            if not entry.problem and not entry.name.endswith(".rules"):
                yield Finding("rules", entry.name, "left", "no .rules file")
            else:
                yield self._copy("rules", entry, reader="rules")

    def skills(self) -> Iterator[Finding]:
        """Copy `skills/`, but for those that Codex unpacks itself."""
        if self.source.has("skills/.system"):
            yield Finding("skills", "skills/.system", "left", "unpacked by Codex itself")
        for entry in self._entries("skills"):
            if not entry.name.startswith("skills/.system/"):
                yield self._copy("skills", entry, reader="skills")

    def prompts(self) -> Iterator[Finding]:
        """Copy `prompts/` and the files `AGENTS.md` and `AGENTS.override.md`."""
        for entry in self._entries("prompts"):
            yield self._copy("prompts", entry, reader="prompts")
        for name in ("AGENTS.md", "AGENTS.override.md"):
            if self.source.has(name):
                yield self._copy("prompts", self._top(name), reader="instructions")

    def hooks(self) -> Iterator[Finding]:
        """Copy `hooks.json` under a name that nothing reads: hooks run commands."""
        if self.source.has("hooks.json"):
            entry = self._top("hooks.json")
            found = self._copy("config", entry, name="hooks.json.imported", status="changed")
            note = found.note or "not enabled: look at it, then rename hooks.json.imported"
            yield Finding(found.area, found.name, found.status, note)

    def _top(self, name: str) -> Entry:
        return Entry(name, self.source.root / name)

    def _entries(self, folder: str) -> Iterator[Entry]:
        for count, entry in enumerate(self.source.walk(folder)):
            if count == _MOST_FILES:
                problem = f"more than {_MOST_FILES} files; copy the rest by hand"
                yield Entry(folder, self.source.root / folder, problem)
                return
            yield entry

    def _copy(
        self,
        area: Area,
        entry: Entry,
        *,
        reader: str = "",
        name: str = "",
        status: Status = "taken",
    ) -> Finding:
        if entry.problem:
            return Finding(area, entry.name, "left", entry.problem)
        target = self.target / (name or entry.name)
        try:
            written = self._write(entry, target)
        except UnreadableError as error:
            return Finding(area, entry.name, "left", str(error))
        except OSError as error:
            note = f"cannot write {target}: {error.strerror}"
            return Finding(area, entry.name, "failed", note)
        if written in ("present", "kept"):
            note = "" if written == "present" else f"{target} differs; --overwrite replaces it"
            return Finding(area, entry.name, written, note)
        if reader and reader not in self.parts:
            return Finding(area, entry.name, "waiting", _NOT_READ_YET)
        return Finding(area, entry.name, status)

    def _write(self, entry: Entry, target: Path) -> Status:
        with self.source.open(entry.path) as stream:
            data = stream.read(_LARGEST + 1)
            mode = 0o700 if os.fstat(stream.fileno()).st_mode & 0o100 else 0o600
        if len(data) > _LARGEST:
            raise UnreadableError(f"larger than {_LARGEST >> 20} MiB; copy it by hand")
        if target.is_file() and target.read_bytes() == data:
            return "present"
        if os.path.lexists(target) and not self.overwrite:
            return "kept"
        if not self.dry_run:
            write_whole(target, data, mode=mode)
        return "taken"


def write_whole(target: Path, data: bytes, *, mode: int = 0o600) -> Path | None:
    """Put a file in place at once; returns where the one it replaces was kept.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        backup = _backup(target)
        Path(name).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return backup


def _backup(target: Path) -> Path | None:
    """Keep what is about to be replaced, under the first free name."""
    if not os.path.lexists(target):
        return None
    number = 1
    while os.path.lexists(backup := target.with_name(f"{target.name}.backup-{number}")):
        number += 1
    shutil.copy2(target, backup)
    return backup
