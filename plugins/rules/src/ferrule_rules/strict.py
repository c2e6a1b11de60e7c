"""The strict reader: understands plain words and nothing else.

What it understands runs exactly the argument lists it returns. Everything that a shell might treat
in a special way makes it give up, so that an allowing rule never speaks for something it did not
see. Bash Reference Manual, 3.1 "Shell Syntax"; what zsh and dash do otherwise is left out, too.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ferrule_rules.words import SUBSCRIPT

LONGEST: Final = 64 * 1024
"""A script with more characters is not read: nobody could review it either."""
_RESERVED: Final = frozenset(
    [
        "!",
        "[[",
        "]]",
        "{",
        "}",
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "in",
        "select",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "time",
        "coproc",
        "repeat",
        "foreach",
        "end",
        "nocorrect",
        "noglob",
        "-",
    ]
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_PLAIN: Final = r"[A-Za-z0-9_./:@%+,=^-]"
# An unquoted run, or text in quotes without anything that is special there.
_PIECE: Final = (
    rf"(?:{_PLAIN}|(?<=[^\s;|&<>])\#)+"
    r"|'[^'\x00-\x08\x0b-\x1f\x7f]*'"
    r'|"[^"$`\\\x00-\x08\x0b-\x1f\x7f]*"'
)
_PIECES: Final = re.compile(_PIECE)
# One token after another: a redirection, a word, or what joins commands.
_TOKEN: Final = re.compile(
    r"(?P<copy>(?<![^\s;|&])[12]?>&[12](?=[ \t\n;|&]|$))"
    r"|(?P<redirect>(?<![^\s;|&])[012]?(?P<operator>>>|>|<)(?![<>&|(])"
    rf"[ \t]*(?P<target>(?:{_PIECE})+))"
    rf"|(?P<word>(?:{_PIECE})+)"
    r"|(?P<joint>&&|\|\||;|\|(?!&)|\n)"
)
_BLANKS: Final = re.compile(r"[ \t]*")
_STATEFUL: Final = frozenset(
    [
        "alias",
        "unalias",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "set",
        "unset",
        "shopt",
        "setopt",
        "unsetopt",
        "hash",
        "enable",
        "disable",
        "exec",
        "eval",
        "source",
        ".",
        "trap",
        "builtin",
        "command",
        "bind",
        "complete",
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "let",
        "printf",
        "autoload",
        "emulate",
        "zmodload",
        "fc",
    ]
)
"""Builtins that may change what a later word means: with others beside them nothing is certain."""

_TAKE_NAMES: Final = _STATEFUL | {"test", "[", "wait", "eval"}


class PlainRedirect(NamedTuple):
    """A file that a command reads (`<`) or writes (`>`, `>>`)."""

    operator: str
    target: str


class PlainCommand(NamedTuple):
    """A command of which every word means itself."""

    argv: tuple[str, ...]
    redirects: tuple[PlainRedirect, ...] = ()


def read_plain(script: str) -> list[PlainCommand] | None:
    """Return the commands that a script runs; None unless every word of it is plain."""
    if len(script) > LONGEST or not _has_plain_letters(script):
        return None
    commands = _commands(script)
    if commands and "[" in script and any(_has_subscript(one.argv) for one in commands):
        return None
    if commands and len(commands) > 1 and any(_is_stateful(one.argv) for one in commands):
        return None
    return commands or None


def _has_plain_letters(script: str) -> bool:
    """Outside of quotes, a letter that is not ASCII may be a blank in some locale."""
    return script.isascii() or _PIECES.sub(_unquoted_part, script).isascii()


def _unquoted_part(found: re.Match[str]) -> str:
    return "" if found[0][0] in "'\"" else found[0]


def _has_subscript(argv: tuple[str, ...]) -> bool:
    """Builtins that take a name of a variable run what stands in its brackets, quoted or not."""
    return argv[0] in _TAKE_NAMES and any(SUBSCRIPT.search(word) for word in argv[1:])


def _is_stateful(argv: tuple[str, ...]) -> bool:
    if argv[0] == "printf":
        return len(argv) > 1 and argv[1].startswith("-")
    return argv[0] in _STATEFUL


def _commands(script: str) -> list[PlainCommand] | None:
    scan = _Scan()
    at = _after_blanks(script, 0)
    while at < len(script):
        found = _TOKEN.match(script, at)
        if found is None or not scan.takes(found):
            return None
        at = _after_blanks(script, found.end())
    return scan.commands() if scan.ends_well() else None


class _Scan:
    """What was understood so far."""

    def __init__(self) -> None:
        self._commands: list[PlainCommand] = []
        self._words: list[str] = []
        self._redirects: list[PlainRedirect] = []
        self._joint = "\n"

    def takes(self, found: re.Match[str]) -> bool:
        """Take one token; False where it means more than it says."""
        kind = found.lastgroup
        if kind == "word":
            return self._takes_word(found[0])
        if kind == "joint":
            return self._takes_joint(found[0])
        if not self._words:
            return False
        if kind == "redirect":
            if not _is_plain_word(found["target"], is_first=False):
                return False
            self._redirects.append(PlainRedirect(found["operator"], _unquoted(found["target"])))
        return True

    def _takes_word(self, raw: str) -> bool:
        if not _is_plain_word(raw, is_first=not self._words):
            return False
        self._words.append(_unquoted(raw))
        return True

    def _takes_joint(self, joint: str) -> bool:
        if not self._words:
            return joint == "\n" and self._joint != ";"
        self._end_command()
        self._joint = joint
        return True

    def _end_command(self) -> None:
        self._commands.append(PlainCommand(tuple(self._words), tuple(self._redirects)))
        self._words, self._redirects = [], []

    def ends_well(self) -> bool:
        """Whether nothing is left open."""
        return bool(self._words) or self._joint not in ("&&", "||", "|")

    def commands(self) -> list[PlainCommand]:
        """The commands."""
        if self._words:
            self._end_command()
        return self._commands


def _after_blanks(script: str, at: int) -> int:
    found = _BLANKS.match(script, at)
    return found.end() if found else at


def _is_plain_word(raw: str, *, is_first: bool) -> bool:
    if raw[0] in "=#":  # zsh replaces `=ls` by the program's path
        return False
    return not is_first or (raw not in _RESERVED and not _ASSIGNMENT.match(raw))


def _unquoted(raw: str) -> str:
    if "'" not in raw and '"' not in raw:
        return raw
    return "".join(piece[1:-1] if piece[0] in "'\"" else piece for piece in _PIECES.findall(raw))
