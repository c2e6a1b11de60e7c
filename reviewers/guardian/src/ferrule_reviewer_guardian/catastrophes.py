"""Commands no model is asked about: only a person may let them through.

A short list on purpose. It spares a request where every answer but one is wrong, and keeps a model
that was talked round from deciding; rules, not this list, are the place for a policy.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from posixpath import basename, normpath
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from ferrule_hookspecs.tools import ToolCall

_SEPARATOR: Final = re.compile(r"[;&|\n()`]+")
_FORK_BOMB: Final = re.compile(r"(?<!\w)(\w{1,32}|:)\s?\(\)\s?\{\s?\1\s?\|\s?\1\s?&")
_DISK: Final = r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/)\w*"
_ONTO_DISK: Final = re.compile(rf"(?:>|\bof=|\btee\s+(?:-a\s+)?)\s*[\"']?{_DISK}")
_FORMATTERS: Final = re.compile(r"(?:mkfs(?:\.\w+)?|wipefs|blkdiscard)")
_WHOLE_DISK: Final = re.compile(_DISK)
_ROOTS: Final = frozenset(
    {"/", "/*", "~", "~/*", "$HOME", "${HOME}", "$HOME/*", "${HOME}/*"}
    | {f"/{name}{end}" for name in ("bin", "boot", "etc", "home", "lib", "root", "usr", "var")
       for end in ("", "/*")}
)  # fmt: skip
_SCRIPT_FLAG: Final = re.compile(r"-\w*c|eval")
_DEPTH: Final = 4
_LONGEST: Final = 64_000
"""Beyond that a command is cut for the model, which then may not allow it either."""


def catastrophe(call: ToolCall) -> str:
    """Say why a call is on the list, or nothing."""
    command = call.arguments.get("cmd", call.arguments.get("command", ""))
    if isinstance(command, str):
        return _of_script(command, _DEPTH)
    if isinstance(command, Sequence):
        words = [str(word) for word in cast("Sequence[object]", command)]
        return _of_script(shlex.join(words), _DEPTH)
    return ""


def _of_script(script: str, depth: int) -> str:
    if len(script) > _LONGEST:
        return ""
    if _FORK_BOMB.search(script):
        return "it starts processes without end"
    if _ONTO_DISK.search(script):
        return "it writes over a whole disk"
    for words in _commands(script):
        if reason := _of_words(words):
            return reason
        for flag, script_within in pairwise(words):
            is_script = _SCRIPT_FLAG.fullmatch(flag) is not None
            if depth and is_script and (reason := _of_script(script_within, depth - 1)):
                return reason
    return ""


def _commands(script: str) -> Iterator[list[str]]:
    for whole in (script, *_SEPARATOR.split(script)):
        try:
            yield shlex.split(whole)
        except ValueError:
            yield whole.split()


def _of_words(words: Sequence[str]) -> str:
    for place, word in enumerate(words):
        name, rest = basename(word), words[place + 1 :]
        if name == "rm" and _is_recursive(rest) and any(_is_root(each) for each in rest):
            return "it deletes a whole system or home folder"
        if _FORMATTERS.fullmatch(name) and any(_WHOLE_DISK.match(each) for each in rest):
            return "it formats a disk"
    return ""


def _is_recursive(words: Sequence[str]) -> bool:
    return any(
        word == "--recursive" or re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*", word) for word in words
    )


def _is_root(word: str) -> bool:
    return (normpath(word).replace("//", "/") if word else "") in _ROOTS
