"""What programs in other languages than the shell's run: interpreters, editors, debuggers.

A text in such a language is given on a command line or fed in. It is not parsed: what stands in a
call that starts programs is read as a command line, and where that is computed, anything may be.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.programs import INTERPRETERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_rules.reading import Word

_MOST: Final = 20
_STRING: Final = r"(?:'(?:[^'\n\\]|\\.)*'|\"(?:[^\"\n\\]|\\.)*\")"
_STRINGS: Final = re.compile(_STRING)
_JOINED: Final = re.compile(rf"{_STRING}(?:\s*(?:\+|\.\.?)?\s*{_STRING})+")
_CALLS: Final = re.compile(
    r"\b(?:system|popen\w*|exec\w*|spawn\w*|run|call(?=\s*[(\[{])|check_\w+|Popen|getoutput|shell_exec|passthru"
    r"|syscmd|esyscmd|shell-command\S*|call-process|start-process|termopen|jobstart)\b"
    r"\s*[({\[]?\s*\[?[^()\]]{0,2000}"
)
_COMPUTED: Final = re.compile(
    r"(?:\bos\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*)"
    r"|\bsubprocess\.(?:run|call|check_\w+|Popen|get\w+)"
    r"|\b(?:system|execSync|spawnSync|shell_exec|passthru|proc_open|Popen))\s*\(\s*\[?\s*"
    r"(?![\s\[\"'\w]*[\"'])[^\s)]"
    r"|\b(?:exec|eval)\s*\(\s*(?![\s\"'\w]*[\"'])[^\s)]"
)
"""A program that is not written down, or code that is made first."""
_BACKQUOTED: Final = re.compile(r"`([^`]+)`")
_PERL_QUOTED: Final = re.compile(r"\bqx\s*(?:\(([^)]*)\)|\{([^}]*)\}|/([^/]*)/|\|([^|]*)\|)")
_AWK_RUNS: Final = re.compile(r"\bsystem\b|(?<!\|)\|(?!\|)")
_SED_RUNS: Final = re.compile(
    r"(?:^|[\s;{}!/$\d])e[ \t]+([^\n]+)"
    r"|(?:^|[\s;{}!/$\d])s([^\w\s\\])(?:\\.|(?!\2).)*\2((?:\\.|(?!\2).)*)\2[gpiImM\d]*e(?=[\s;}gpiImM\d]|$)"
)
_TCL_RUNS: Final = re.compile(r"\b(?:exec|spawn|system|open)\s+(?:-\w+\s+)*[{\"|]*([^\n\]};\"]+)")
_BANG: Final = re.compile(r"(?<![\w=])!+[ \t]*(\w\S*[^\n]*)|(?<=[rw] )![ \t]*(\w[^\n]*)")
_DEBUGGER: Final = re.compile(r"(?:^|[\n;\s'\"])(?:!|shell\b|make\b|pipe\b.*?\|)[ \t]*([^\n]+)")
_DATABASE: Final = re.compile(
    r"(?:\.shell|\.system|\\!|\\copy\b.*\bprogram\s+|\bsystem\b|\bto\s+program\s+)"
    r"[ \t]*['\"]?([^\n'\"]+)",
    re.I,
)
_SEDS: Final = ("sed", "gsed")
_PATTERNS: Final = {
    **dict.fromkeys(_SEDS, _SED_RUNS),
    **dict.fromkeys(("tclsh", "wish", "expect"), _TCL_RUNS),
    **dict.fromkeys(
        (
            *("vi", "vim", "nvim", "view", "gvim", "vimdiff", "ex", "ed", "red", "less", "more"),
            *("ftp", "lftp", "sftp", "mail", "mailx", "mutt", "gnuplot", "octave", "gh"),
        ),
        _BANG,
    ),
    **dict.fromkeys(("gdb", "lldb", "pdb"), _DEBUGGER),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "mariadb", "sqlcmd"), _DATABASE),
}
_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_CODE_OPTIONS: Final = {
    "python": ("-c",),
    "pypy": ("-c",),
    "node": ("-e", "--eval", "-p", "--print"),
    "php": ("-r",),
    "perl": ("-e", "-E", "-ne", "-pe", "-nE", "-lne"),
}
CODE_READERS: Final = frozenset(
    [
        *INTERPRETERS,
        *(f"python3.{minor}" for minor in range(9, 16)),
        *_AWKS,
        *_PATTERNS,
        *("m4", "emacs"),
    ]
)
"""Programs that may run others by the text that they are given."""


def argument_scripts(name: str, argv: Sequence[Word]) -> Iterator[Word]:
    """Yield what code on a command line runs as shell scripts; None where that is computed."""
    if name in _AWKS:
        values = [word.partition("=")[2] for word in argv[1:] if word and "=" in word[:40]]
        for word in argv[1:]:
            yield from _of_awk(word or "", values)
    elif name in _PATTERNS or name == "emacs":
        for word in argv[1:]:
            if word:
                yield from code_scripts(name, word.removeprefix("+"))
    else:
        options = _CODE_OPTIONS.get(name.rstrip("0123456789."), ("-e",))
        for before, code in itertools.pairwise(argv):
            if code and before in options:
                yield from code_scripts(name, code)


def code_scripts(name: str, code: str) -> Iterator[Word]:
    """Yield what a text runs that a program is fed with."""
    if name in _AWKS:
        yield from _of_awk(code, ())
        return
    yield from _escapes(name, code)
    if name not in _SEDS:
        yield from _calls(_JOINED.sub(_joined, code))


def _escapes(name: str, code: str) -> Iterator[Word]:
    """Find commands that stand for themselves, as after the `!` of an editor."""
    if pattern := _PATTERNS.get(name):
        for found in itertools.islice(pattern.finditer(code), _MOST):
            yield next((part for part in reversed(found.groups()) if part and len(part) > 1), None)
    for found in itertools.islice(_BACKQUOTED.finditer(code), _MOST):
        yield found[1]
    if name == "perl":
        for found in itertools.islice(_PERL_QUOTED.finditer(code), _MOST):
            yield "".join(part for part in found.groups() if part)
    if name == "m4":
        yield from re.findall(r"syscmd\(\s*[`']?([^)']+)", code)[:_MOST]


def _calls(code: str) -> Iterator[Word]:
    for found in itertools.islice(_CALLS.finditer(code), _MOST):
        words = [text[1:-1] for text in _STRINGS.findall(found[0])]
        if words:
            yield " ".join(words) if "[" in found[0] or "-process" in found[0] else words[0]
    if _COMPUTED.search(code):
        yield None


def _of_awk(code: str, values: Sequence[str]) -> Iterator[Word]:
    """In awk every text may be run that stands in a program with a pipe or `system`."""
    if not _AWK_RUNS.search(_STRINGS.sub("", code)):
        return
    code = _JOINED.sub(_joined, code)
    for text in [*(found[1:-1] for found in _STRINGS.findall(code)), *values][:_MOST]:
        if text.strip():
            yield text


def _joined(found: re.Match[str]) -> str:
    text = "".join(part[1:-1] for part in _STRINGS.findall(found[0]))
    return '"{}"'.format(text.replace('"', "'"))
