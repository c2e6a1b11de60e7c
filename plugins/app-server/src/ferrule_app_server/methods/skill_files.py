"""Finds skills: folders with a `SKILL.md` that says in its head what they are called and do."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD: Final = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_BLOCK: Final = re.compile(r"[|>][+-]?")
_HEAD_LIMIT: Final = 64 * 1024
_FILE: Final = "SKILL.md"

Scope = Literal["user", "repo"]


class SkillError(FerruleError):
    """A skill's file cannot be understood."""


class Skill(NamedTuple):
    """A skill as its file describes it."""

    name: str
    description: str
    path: str
    scope: Scope


class SkillFault(NamedTuple):
    """A skill that cannot be used, and why."""

    path: str
    message: str


def skill_folders(cwd: str, project_root: str, home: Path) -> list[tuple[Path, Scope]]:
    """Name the folders that hold skills for a working directory, the nearest first."""
    folders: list[tuple[Path, Scope]] = []
    folder = Path(cwd)
    for each in (folder, *folder.parents):
        folders.append((each / ".agents" / "skills", "repo"))
        if str(each) == project_root or not folder.is_relative_to(project_root):
            break
    return [*folders, (home / "skills", "user")]


def find_skills(folder: Path, scope: Scope) -> Iterator[Skill | SkillFault]:
    """Read every skill in a folder, sorted by name of its own folder."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        file = folder / name / _FILE
        if not file.is_file():
            continue
        try:
            yield _read(file, scope)
        except (SkillError, OSError) as error:
            yield SkillFault(str(file), str(error))


def _read(file: Path, scope: Scope) -> Skill:
    with file.open(encoding="utf-8", errors="replace") as stream:
        head = _HEAD.match(stream.read(_HEAD_LIMIT))
    if head is None:
        raise SkillError("missing YAML frontmatter delimited by ---")
    values = _values(head[1])
    if not values.get("description"):
        raise SkillError("missing field `description`")
    name = values.get("name") or file.parent.name
    return Skill(name, values["description"], str(file), scope)


def _values(text: str) -> dict[str, str]:
    """Read the texts of a head; what is nested belongs to others and is passed over."""
    values: dict[str, str] = {}
    key, is_block = "", False
    for line in text.splitlines():
        match = _KEY.fullmatch(line.rstrip())
        if match is not None:
            key, value = match[1], (match[2] or "").strip()
            is_block = _BLOCK.fullmatch(value) is not None
            values[key] = "" if is_block else _unquoted(value)
        elif key and line[:1] in (" ", "\t") and (is_block or values[key]):
            values[key] = f"{values[key]} {line.strip()}".strip()
    return values


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
