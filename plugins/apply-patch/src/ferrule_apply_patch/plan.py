"""Works out what a patch makes of the files, before anything is written.

Pure: it gets a picture of all files the patch names and returns every edit, or says why the patch
does not fit. Sections see what sections before them did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ferrule_apply_patch.diff import between, unified
from ferrule_apply_patch.document import Document, decode, encode
from ferrule_apply_patch.parser import (
    AddFile,
    DeleteFile,
    PatchError,
    Section,
    UpdateFile,
)
from ferrule_apply_patch.placement import locate_edits
from ferrule_hookspecs.items import FileUpdateChange, UpdateKind
from ferrule_hookspecs.sandbox import FileEdit, RemoveFile, WriteFile

Resolve = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path.

    Attributes:
        data: The content; None when there is no file.
        mode: Permission bits, if it exists.
        problem: Why it cannot be read or replaced, in the words of the system.
    """

    data: bytes | None = None
    mode: int | None = None
    problem: str = "No such file or directory (os error 2)"

    @property
    def is_blocked(self) -> bool:
        """Something other than a readable file is in the way."""
        return self.data is None and self != FileState()


@dataclass(slots=True)
class Plan:
    """What to write, and how to tell about it."""

    edits: list[FileEdit] = field(default_factory=list[FileEdit])
    changes: list[FileUpdateChange] = field(default_factory=list[FileUpdateChange])
    summary: str = ""


def touched_paths(sections: Iterable[Section], resolve: Resolve) -> list[str]:
    """All paths a patch names, each once, in order."""
    paths: dict[str, None] = {}
    for section in sections:
        paths[resolve(section.path)] = None
        if isinstance(section, UpdateFile) and section.move_to:
            paths[resolve(section.move_to)] = None
    return list(paths)


def make_plan(
    sections: Iterable[Section], resolve: Resolve, files: Mapping[str, FileState]
) -> Plan:
    """Apply a patch to a picture of the files.

    Args:
        sections: The patch.
        resolve: Makes a path absolute.
        files: The state of each path in `touched_paths`.

    Raises:
        PatchError: The patch does not fit.
    """
    planner = _Planner(resolve, files)
    for section in sections:
        planner.take(section)
    return planner.plan()


class _Planner:
    """Applies sections one by one to its own picture of the files."""

    def __init__(self, resolve: Resolve, files: Mapping[str, FileState]) -> None:
        self._resolve = resolve
        self._before = files
        self._now = dict(files)
        self._moved: dict[str, str] = {}
        self._hunks: dict[str, str] = {}
        self._touched: Counter[str] = Counter()
        self._letters: dict[str, list[str]] = {"A": [], "M": [], "D": []}

    def take(self, section: Section) -> None:
        """Apply a section."""
        self._touched.update(touched_paths([section], self._resolve))
        if isinstance(section, AddFile):
            self._write(self._resolve(section.path), FileState(encode(section.text)))
            self._letters["A"].append(section.path)
        elif isinstance(section, DeleteFile):
            path = self._resolve(section.path)
            if self._now[path].data is None:
                raise PatchError(f"Failed to read {path}: {self._now[path].problem}")
            self._now[path] = FileState()
            self._letters["D"].append(section.path)
        else:
            self._update(section)
            self._letters["M"].append(section.move_to or section.path)

    def _update(self, section: UpdateFile) -> None:
        source = self._resolve(section.path)
        target = self._resolve(section.move_to) if section.move_to else source
        state = self._now[source]
        if state.data is None:
            raise PatchError(f"Failed to read file to update {source}: {state.problem}")
        document = Document(decode(state.data))
        splices = document.splices(locate_edits(document, section.chunks, source))
        self._hunks[source] = unified(document.lines, splices)
        if target != source:
            self._now[source] = FileState()
            self._moved[source] = target
        self._write(target, replace(state, data=encode(document.spliced(splices))))

    def _write(self, path: str, state: FileState) -> None:
        if self._now[path].is_blocked:
            raise PatchError(f"Failed to write file {path}: {self._now[path].problem}")
        mode = state.mode if state.mode is not None else self._now[path].mode
        self._now[path] = replace(state, mode=mode)

    def plan(self) -> Plan:
        """Sum up."""
        lines = [f"{letter} {path}\n" for letter, paths in self._letters.items() for path in paths]
        summary = "Success. Updated the following files:\n" + "".join(lines)
        return Plan(self._edits(), self._changes(), summary)

    def _edits(self) -> list[FileEdit]:
        changed = [(path, now) for path, now in self._now.items() if now != self._before[path]]
        edits: list[FileEdit] = [
            WriteFile(path, now.data, now.mode) for path, now in changed if now.data is not None
        ]
        return edits + [RemoveFile(path) for path, now in changed if now.data is None]

    def _changes(self) -> list[FileUpdateChange]:
        """One change per file, sorted by path: its state before against its state after."""
        targets = {self._moved[path] for path in self._moved if self._is_moved(path)}
        found = (self._change(path) for path in sorted(self._now) if path not in targets)
        return [change for change in found if change is not None]

    def _is_moved(self, path: str) -> bool:
        """A file that was there went to its target, and stayed away."""
        target = self._moved[path]
        return (
            self._before[path].data is not None
            and self._now[path].data is None
            and self._now[target].data is not None
            and target not in self._moved
        )

    def _change(self, path: str) -> FileUpdateChange | None:
        before, after = self._before[path].data, self._now[path].data
        target = self._moved[path] if path in self._moved and self._is_moved(path) else None
        if target is not None:
            after = self._now[target].data
        if before is None and after is None:
            return None
        if before is None:
            return {"path": path, "kind": {"type": "add"}, "diff": _shown(after)}
        if after is None:
            return {"path": path, "kind": {"type": "delete"}, "diff": _shown(before)}
        kind: UpdateKind = {"type": "update", "move_path": target}
        diff = self._single_diff(path, target) or between(decode(before), decode(after))
        return {"path": path, "kind": kind, "diff": _readable(diff)}

    def _single_diff(self, path: str, target: str | None) -> str | None:
        """The hunks of the section that was the only one to touch the file."""
        is_only = self._touched[path] == 1 and self._touched[target or path] == 1
        return self._hunks.get(path) if is_only else None


def _shown(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
