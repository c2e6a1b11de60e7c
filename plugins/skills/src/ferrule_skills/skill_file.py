"""One `SKILL.md`: a head that says what the skill is called and does, and a body for the model.

The head is YAML between lines of `---`; of it only texts at the top level are read.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from ferrule_skills.roots import Scope

DESCRIPTION_LIMIT: Final = 1024
"""Letters of a description that are read."""
_HEAD_LIMIT: Final = 64 * 1024
_BODY_LIMIT: Final = 256 * 1024
_NAME_LIMIT: Final = 64
_FENCE: Final = re.compile(r"---[ \t]*")
_KEY: Final = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_BLOCK: Final = re.compile(r"[|>][+-]?")
_CAREFULLY: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class SkillError(FerruleError):
    """A skill's file cannot be used; `line` is where, 0 for the whole file."""

    def __init__(self, message: str, line: int = 0) -> None:
        """Keep the line beside the message."""
        super().__init__(message)
        self.line = line


class Skill(NamedTuple):
    """A skill as its file describes it; `real` is where the file was when it was looked at."""

    name: str
    description: str
    path: str
    root: str
    scope: Scope
    real: str

    @property
    def place(self) -> str:
        """Where it is below its root."""
        return os.path.relpath(self.path, self.root).replace(os.sep, "/")


class SkillFault(NamedTuple):
    """A file or folder that cannot be used, and why."""

    path: str
    message: str
    line: int = 0

    def __str__(self) -> str:
        """Place and cause in one sentence."""
        return (
            f"{self.path}:{self.line}: {self.message}"
            if self.line
            else f"{self.path}: {self.message}"
        )


def read_skill(file: Path, root: Path, scope: Scope) -> Skill:
    """Read the head of a file.

    Raises:
        SkillError: It is no file, or its head does not say what is needed.
    """
    real = os.path.realpath(file)
    values, lines = _head(_text(file, _HEAD_LIMIT)[0])
    name = values.get("name", file.parent.name)
    description = " ".join(values.get("description", "").split())
    if not name:
        raise SkillError("`name` is empty", lines.get("name", 1))
    if len(name) > _NAME_LIMIT or not name.isprintable():
        raise SkillError(f"`name` must be one line of {_NAME_LIMIT} letters at most", lines["name"])
    if not description:
        raise SkillError(
            "`description` is missing: say what it is for", lines.get("description", 1)
        )
    return Skill(name, description[:DESCRIPTION_LIMIT], str(file), str(root), scope, real)


def read_body(skill: Skill) -> str:
    """Return the whole text of a skill's file, cut with a mark where it is very long.

    Raises:
        SkillError: It cannot be read, or is a link now that it was not when it was looked at.
    """
    if os.path.realpath(skill.path) != skill.real:  # a command may have put it there
        raise SkillError("leads elsewhere since the skills were listed")
    text, is_cut = _text(Path(skill.real), _BODY_LIMIT)
    return f"{text}\n[Cut here. Read the rest of {skill.path} itself.]" if is_cut else text


def _text(file: Path, limit: int) -> tuple[str, bool]:
    try:
        descriptor = os.open(file, _CAREFULLY)
    except OSError as error:
        raise SkillError(f"cannot be read: {error.strerror}") from None
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SkillError("is no regular file")
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise SkillError(f"cannot be read: {error.strerror}") from None
    return data[:limit].decode("utf-8-sig", errors="replace"), len(data) > limit


def _head(text: str) -> tuple[dict[str, str], dict[str, int]]:
    """Read the texts of a head and their lines; what is nested belongs to others."""
    lines = text.splitlines()
    if not lines or not _FENCE.fullmatch(lines[0]):
        raise SkillError("does not begin with a head between two lines of ---", 1)
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    key, is_block = "", False
    for number, line in enumerate(lines[1:], start=2):
        if _FENCE.fullmatch(line):
            return values, places
        match = _KEY.fullmatch(line.rstrip())
        if match is not None:
            key, value = match[1], (match[2] or "").strip()
            is_block = _BLOCK.fullmatch(value) is not None
            values[key], places[key] = "" if is_block else _unquoted(value), number
        elif line[:1] in (" ", "\t"):
            if key and (is_block or values[key]):
                values[key] = f"{values[key]} {line.strip()}".strip()
        elif line.strip() and not line.startswith(("#", "- ")):
            raise SkillError(f"{line.strip()[:40]!r} is no `key: value`", number)
    raise SkillError("the head has no second line of ---", len(lines))


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
