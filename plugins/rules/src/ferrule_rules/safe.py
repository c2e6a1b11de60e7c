"""Commands that only read, so that nobody needs to be asked about them.

Each entry is certain whatever its words are, or has a check of its words. `git` is not certain by
itself: its configuration, which a repository carries, names programs to run for many a sub-command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ANY: Final = frozenset(
    [
        "basename",
        "cat",
        "cksum",
        "cmp",
        "comm",
        "cut",
        "dirname",
        "du",
        "echo",
        "expr",
        "expand",
        "false",
        "fold",
        "free",
        "getconf",
        "groups",
        "head",
        "hostid",
        "id",
        "join",
        "last",
        "logname",
        "ls",
        "lsblk",
        "lscpu",
        "lsof",
        "md5sum",
        "nl",
        "nproc",
        "numfmt",
        "od",
        "paste",
        "pathchk",
        "pr",
        "printenv",
        "ps",
        "pwd",
        "readlink",
        "realpath",
        "seq",
        "sha1sum",
        "sha224sum",
        "sha256sum",
        "sha384sum",
        "sha512sum",
        "sleep",
        "stat",
        "strings",
        "sum",
        "tac",
        "tail",
        "tr",
        "true",
        "tsort",
        "tty",
        "uname",
        "unexpand",
        "uptime",
        "users",
        "w",
        "wc",
        "whereis",
        "which",
        "who",
        "whoami",
        "df",
        "cd",
        "grep",
        "egrep",
        "fgrep",
    ]
)
# Patterns are compiled when a command first needs them: together they would take several ms.
_FIND_EFFECTS: Final = r"-(exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)"
_SED_PRINT: Final = r"\d+(,\d+)?p"
_GIT_READS: Final = frozenset({"status", "log", "diff", "show", "rev-parse", "ls-files", "blame"})
_GIT_WRITES: Final = (
    r"--(output|ext-diff|textconv|open-files-in-pager|exec|paginate|upload-pack|config-env|exec-path|"
    r"git-dir|work-tree|super-prefix|namespace|o)(=.*)?|-c|-C|-p|-O.*"
)


def _without(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Make a check that no word fits a pattern."""
    return lambda words: not any(re.fullmatch(pattern, word) for word in words)


def _at_most_one_operand(words: Sequence[str]) -> bool:
    """`uniq A B` writes B."""
    return len([word for word in words if not word.startswith("-")]) <= 1


def _sed(words: Sequence[str]) -> bool:
    return (
        len(words) in (2, 3)
        and words[0] == "-n"
        and re.fullmatch(_SED_PRINT, words[1]) is not None
        and not any(word.startswith("-") for word in words[2:])
    )


def _git(words: Sequence[str]) -> bool:
    if not words:
        return True
    if words[0] == "branch":
        return all(
            word in ("--show-current", "-a", "-r", "-v", "-vv", "--list") for word in words[1:]
        )
    if words[0] in ("--version", "version"):
        return len(words) == 1
    return words[0] in _GIT_READS and not any(re.fullmatch(_GIT_WRITES, word) for word in words[1:])


_CHECKED: Final[dict[str, Callable[[Sequence[str]], bool]]] = {
    "base64": _without(r"-o.*|--output(=.*)?"),
    "date": _without(r"-s.*|--set(=.*)?|[0-9.]+"),
    "find": lambda words: not any(re.fullmatch(_FIND_EFFECTS, word) for word in words),
    "git": _git,
    "hostname": lambda words: not words,
    "printf": lambda words: not words or not words[0].startswith("-"),
    "rg": _without(r"--pre(=.*)?|--hostname-bin(=.*)?|--search-zip|-[A-Za-z]*z[A-Za-z]*"),
    "sed": _sed,
    "sort": _without(
        r"-[A-Za-z]*[oTS].*|--(output|compress-program|temporary-directory)(=.*)?|--o.*|--c.*"
    ),
    "test": _without(r"-[vR]"),
    "[": _without(r"-[vR]"),
    "tree": _without(r"-[A-Za-z]*[oR].*|--output.*"),
    "uniq": _at_most_one_operand,
    "file": _without(r"-[A-Za-z]*C.*|--compile|-[A-Za-z]*[zZ].*"),
}


def is_known_safe(argv: Sequence[str]) -> bool:
    """Whether a command certainly changes nothing."""
    name = argv[0]
    if name.startswith(("/bin/", "/usr/bin/")):
        name = name.rpartition("/")[2]
    if name in _ANY:
        return True
    check = _CHECKED.get(name)
    return check is not None and check(argv[1:])
