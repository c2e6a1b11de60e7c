"""What a command line does, where that is plain to see; shown to users, never relied on."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ferrule_hookspecs.items import CommandAction

# Anything that makes a line more than one simple command whose words mean themselves.
_SHELL_SYNTAX: Final = re.compile(r"[;&|<>()`$\n\\*?\[{~#!]")
_READERS: Final = frozenset({"cat", "head", "tail", "nl", "less", "more", "bat"})
_LISTERS: Final = frozenset({"ls", "tree"})
_SEARCHERS: Final = frozenset({"rg", "grep", "ag", "ack"})
_READER_VALUES: Final = frozenset({"-n", "-c"})
_LISTER_VALUES: Final = frozenset({"-L", "-I", "-P", "-g", "-t"})
_SEARCHER_VALUES: Final = frozenset({"-m", "-A", "-B", "-C", "-g", "-t"})
_LINE_RANGE: Final = re.compile(r"\d+(,\d+)?p")


def actions(command: str, cwd: str) -> list[CommandAction]:
    """Describe a command line."""
    return [_action(command, cwd) or {"type": "unknown", "command": command}]


def _action(command: str, cwd: str) -> CommandAction | None:
    if _SHELL_SYNTAX.search(command):
        return None
    try:
        program, *rest = shlex.split(command)
    except ValueError:
        return None
    if program == "sed" and rest[:1] == ["-n"] and len(rest) == 3 and _LINE_RANGE.match(rest[1]):
        return _read(command, rest[2], cwd)
    if program in _READERS and len(operands := _operands(rest, _READER_VALUES)) == 1:
        return _read(command, operands[0], cwd)
    if program in _LISTERS or (program == "rg" and "--files" in rest):
        operands = _operands(rest, _LISTER_VALUES)
        return {"type": "listFiles", "command": command, "path": operands[0] if operands else None}
    if program in _SEARCHERS and (operands := _operands(rest, _SEARCHER_VALUES)):
        path = operands[1] if len(operands) > 1 else None
        return {"type": "search", "command": command, "query": operands[0], "path": path}
    return None


def _operands(words: Sequence[str], options_with_value: Collection[str]) -> list[str]:
    found: list[str] = []
    takes_value = False
    for word in words:
        if takes_value:
            takes_value = False
        elif word.startswith("-") and word != "-":
            takes_value = word in options_with_value
        else:
            found.append(word)
    return found


def _read(command: str, path: str, cwd: str) -> CommandAction:
    return {
        "type": "read",
        "command": command,
        "name": os.path.basename(path),
        "path": os.path.normpath(os.path.join(cwd, path)),
    }
