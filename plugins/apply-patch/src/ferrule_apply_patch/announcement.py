"""What a patch says it will do, read off its text before any file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_apply_patch.parser import AddFile, Chunk, DeleteFile, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ferrule_hookspecs.items import FileUpdateChange


def announced(sections: Iterable[Section], resolve: Callable[[str], str]) -> list[FileUpdateChange]:
    """One change per file, sorted by path; a deleted file's text is not known yet."""
    changes: dict[str, FileUpdateChange] = {}
    for section in sections:
        path = resolve(section.path)
        if isinstance(section, AddFile):
            changes[path] = {"path": path, "kind": {"type": "add"}, "diff": section.text}
        elif isinstance(section, DeleteFile):
            changes[path] = {"path": path, "kind": {"type": "delete"}, "diff": ""}
        else:
            changes[path] = {
                "path": path,
                "kind": {
                    "type": "update",
                    "move_path": resolve(section.move_to) if section.move_to else None,
                },
                "diff": "".join(_hunk(chunk) for chunk in section.chunks),
            }
    return [changes[path] for path in sorted(changes)]


def _hunk(chunk: Chunk) -> str:
    header = "@@" if chunk.place is None else f"@@ {chunk.place}"
    return f"{header}\n" + "".join(f"{kind}{text}\n" for kind, text in chunk.lines)
