"""Programs that run other programs: how to find what they run."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.programs import INTERPRETERS
from ferrule_rules.reading import SHELLS, Word
from ferrule_rules.wrapper_table import SUBCOMMANDS, WRAPPERS, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Argv = tuple[Word, ...]

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Inner(NamedTuple):
    """What a wrapper runs: an argument list, or a script."""

    wrapper: str
    argv: Argv = ()
    script: str | None = None
    is_powershell: bool = False


_FEEDERS: Final = frozenset({"xargs", "parallel", "entr"})
"""Wrappers that add words of their own to the command's."""
_SHELL_VALUES: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_POWERSHELLS: Final = frozenset({"pwsh", "powershell", "powershell.exe", "pwsh.exe"})
_FIND_ACTIONS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def program(word: Word) -> str:
    """Return the name of a program without its folder; empty where it cannot be known."""
    if word is None:
        return ""
    return word.replace("\\", "/").rpartition("/")[2]


def inner_of(argv: Argv) -> Iterator[Inner]:
    """Find what a command runs in turn; nothing for a command that runs no other."""
    if not argv:
        return
    name = program(argv[0])
    if reader := _READERS.get(name):
        yield from reader(name, argv)
    elif name in WRAPPERS:
        yield from _after_options(name, argv, WRAPPERS[name])
    elif name in SUBCOMMANDS:
        yield from _after_subcommand(name, argv)


def _after_options(name: str, argv: Argv, layout: Layout) -> Iterator[Inner]:
    at, skipped = 1, 0
    while at < len(argv):
        word = argv[at]
        if (found := _script_option(name, argv, at)) is not None:
            yield from found
            return
        if word is not None and word.startswith("-") and word not in ("-", "--"):
            if name == "command" and word in ("-v", "-V"):
                return
            at += 2 if word in layout.with_value else 1
        elif word == "--" or (layout.assigns and word is not None and _ASSIGNMENT.match(word)):
            at += 1
        elif skipped < layout.skip:
            skipped += 1
            at += 1
        else:
            break
    rest = argv[at:]
    if name == "watch" and len(rest) == 1 and rest[0]:
        yield Inner(name, script=rest[0])
    elif rest:
        yield Inner(name, (*rest, None) if name in _FEEDERS else rest)


def _script_option(name: str, argv: Argv, at: int) -> Iterator[Inner] | None:
    """Read an option whose value is a script."""
    word = argv[at]
    if word is None:
        return None
    if name == "env":
        if word in ("-S", "--split-string"):
            return _split_string(name, argv, at)
        if word.startswith(("-S", "--split-string=")):
            text = word.partition("=")[2] if word.startswith("--") else word[2:]
            return iter((Inner(name, script=text),))
    if name in ("flock", "npx") and word in ("-c", "--call", "--command"):
        return _script_at(name, argv, at + 1)
    return None


def _split_string(name: str, argv: Argv, at: int) -> Iterator[Inner]:
    text = argv[at + 1] if at + 1 < len(argv) else None
    if text is not None:
        rest = " ".join(word for word in argv[at + 2 :] if word is not None)
        yield Inner(name, script=f"{text} {rest}".strip())


def _script_at(name: str, argv: Argv, at: int) -> Iterator[Inner]:
    if at < len(argv):
        script = argv[at]
        yield Inner(name, (None,)) if script is None else Inner(name, script=script)


def _after_subcommand(name: str, argv: Argv) -> Iterator[Inner]:
    for words in SUBCOMMANDS[name]:
        at = 1
        matched = 0
        while at < len(argv) and matched < len(words):
            if argv[at] == words[matched]:
                matched += 1
            elif argv[at] is None or not str(argv[at]).startswith("-"):
                break
            at += 1
        if matched == len(words):
            yield from _after_options(" ".join((name, *words)), ("", *argv[at:]), Layout())
            return


def _shell(name: str, argv: Argv) -> Iterator[Inner]:
    at = 1
    while at < len(argv):
        word = argv[at]
        if word is None or not word.startswith(("-", "+")) or word in ("-", "--"):
            return  # a script file
        is_short = not word.startswith("--")
        if is_short and word[0] == "-" and "c" in word[1:]:
            at += 1
            while at < len(argv) and argv[at] in ("--", "-e", "-x", "-u", "-l", "-i"):
                at += 1
            yield from _script_at(name, argv, at)
            return
        at += 2 if word in _SHELL_VALUES else 1


def _powershell(name: str, argv: Argv) -> Iterator[Inner]:
    for at, word in enumerate(argv[1:], 1):
        if word and word.lower() in ("-c", "-command", "/c", "-commandwithargs"):
            rest = " ".join(part for part in argv[at + 1 :] if part is not None)
            yield Inner(name, script=rest, is_powershell=True)
            return


def _eval(name: str, argv: Argv) -> Iterator[Inner]:
    words = argv[2:] if len(argv) > 1 and argv[1] == "--" else argv[1:]
    if None in words:
        yield Inner(name, (None,))
    elif words:
        yield Inner(name, script=" ".join(word for word in words if word is not None))


def _trap(name: str, argv: Argv) -> Iterator[Inner]:
    words = [word for word in argv[1:] if word not in ("--", "-p", "-l")]
    if len(words) > 1 and words[0]:
        yield Inner(name, script=words[0])


def _find(name: str, argv: Argv) -> Iterator[Inner]:
    at = 1
    while at < len(argv):
        if argv[at] in _FIND_ACTIONS:
            end = at + 1
            while end < len(argv) and argv[end] not in (";", "+"):
                end += 1
            inner = tuple(None if word == "{}" else word for word in argv[at + 1 : end])
            if inner:
                yield Inner(name, inner)
            at = end
        at += 1


def _fd(name: str, argv: Argv) -> Iterator[Inner]:
    for at, word in enumerate(argv):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            inner = tuple(
                None if part and part.startswith("{") else part for part in argv[at + 1 :]
            )
            if inner:
                yield Inner(name, (*inner, None))
            return


def _command_option(*options: str) -> Callable[[str, Argv], Iterator[Inner]]:
    """Read programs that take a script by an option, such as `su -c`."""

    def read(name: str, argv: Argv) -> Iterator[Inner]:
        for at, word in enumerate(argv[1:], 1):
            if word in options:
                yield from _script_at(name, argv, at + 1)
                return
            for option in options:
                if word and option.startswith("--") and word.startswith(f"{option}="):
                    yield Inner(name, script=word.partition("=")[2])
                    return

    return read


_SSH_VALUES: Final = frozenset(
    [
        "-b",
        "-c",
        "-D",
        "-E",
        "-e",
        "-F",
        "-I",
        "-i",
        "-J",
        "-L",
        "-l",
        "-m",
        "-O",
        "-o",
        "-p",
        "-Q",
        "-R",
        "-S",
        "-W",
        "-w",
    ]
)


def _ssh(name: str, argv: Argv) -> Iterator[Inner]:
    at = 1
    while at < len(argv):
        word = argv[at]
        if word is None or not word.startswith("-"):
            break
        at += 2 if word in _SSH_VALUES else 1
    words = argv[at + 1 :]
    if words and None not in words:
        yield Inner(name, script=" ".join(word for word in words if word is not None))


_CONTAINER_VALUES: Final = frozenset(
    [
        "-u",
        "-w",
        "-e",
        "--user",
        "--workdir",
        "--env",
        "--env-file",
        "-n",
        "-c",
        "--namespace",
        "--container",
        "--context",
    ]
)


def _container(name: str, argv: Argv) -> Iterator[Inner]:
    """Read `docker exec` and `kubectl exec`: what they run is no command of this machine's, but a
    rule that forbids it means it all the same.
    """
    if "exec" not in argv:
        return
    at = argv.index("exec") + 1
    while at < len(argv):
        word = argv[at]
        if word is None or not word.startswith("-"):
            break
        at += 2 if word in _CONTAINER_VALUES else 1
    rest = tuple(word for word in argv[at + 1 :] if word != "--")
    if rest:
        yield Inner(name, rest)


def _alias(name: str, argv: Argv) -> Iterator[Inner]:
    for word in argv[1:]:
        _, sign, value = (word or "").partition("=")
        if sign and value:
            yield Inner(name, script=value)


def _set(name: str, argv: Argv) -> Iterator[Inner]:
    """Read `set -- rm -rf x`, after which `"$@"` is a command."""
    if "--" in argv and (words := argv[argv.index("--") + 1 :]):
        yield Inner(name, words)


def _git(name: str, argv: Argv) -> Iterator[Inner]:
    """Read what `-c alias.x='!…'` and the like let git run."""
    for before, word in itertools.pairwise(argv):
        _, sign, value = (word or "").partition("=")
        if before == "-c" and sign and (value.startswith("!") or _GIT_PROGRAM.match(word or "")):
            yield Inner(name, script=value.lstrip("!"))
    yield from _after_subcommand(name, argv)


def _tar(name: str, argv: Argv) -> Iterator[Inner]:
    for at, word in enumerate(argv):
        if found := _TAR_PROGRAM.match(word or ""):
            value = found[1] or (argv[at + 1] if at + 1 < len(argv) else None)
            if value:
                yield Inner(name, script=value.removeprefix("exec="))


def _code(name: str, argv: Argv) -> Iterator[Inner]:
    """Read what a program given on the command line of an interpreter runs."""
    options = _CODE_OPTIONS.get(name.rstrip("0123456789."), ("-e",))
    for before, code in itertools.pairwise(argv):
        if code and (before in options or name in ("awk", "gawk", "mawk")):
            yield from _called(name, code)
    if code := argv[1] if name.endswith("awk") and len(argv) > 1 else None:
        yield from _called(name, code)


def _called(name: str, code: str) -> Iterator[Inner]:
    for found in itertools.islice(_CALLS.finditer(code), 20):
        words = [text[1:-1] for text in _STRINGS.findall(found[0])]
        if words:
            yield Inner(name, script=" ".join(words) if "[" in found[0] else words[0])
    for found in itertools.islice(re.finditer(r"`([^`]+)`", code), 20):
        yield Inner(name, script=found[1])


_GIT_PROGRAM: Final = re.compile(
    r"(core\.(pager|editor|sshcommand|fsmonitor|hookspath)|sequence\.editor|diff\.external|pager\.)",
    re.I,
)
_TAR_PROGRAM: Final = re.compile(
    r"(?:--checkpoint-action|--to-command|--use-compress-program|-I|--rsh-command)(?:=(.*))?$", re.S
)
_CODE_OPTIONS: Final = {
    "python": ("-c",),
    "pypy": ("-c",),
    "node": ("-e", "--eval", "-p", "--print"),
    "php": ("-r",),
    "perl": ("-e", "-E", "-ne", "-pe", "-nE", "-lne"),
}
_CALLS: Final = re.compile(
    r"\b(?:system|popen\w*|exec\w*|spawn\w*|run|call|check_\w+|Popen|getoutput|shell_exec|passthru"
    r"|qx)\b\s*[({\[]?\s*\[?[^()\]]{0,2000}"
)
_STRINGS: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_WITH_CODE: Final = (
    *INTERPRETERS,
    *(f"python3.{minor}" for minor in range(9, 15)),
    *("awk", "gawk", "mawk"),
)
_READERS: Final[dict[str, Callable[[str, Argv], Iterator[Inner]]]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(_POWERSHELLS, _powershell),
    **dict.fromkeys(_WITH_CODE, _code),
    "set": _set,
    "alias": _alias,
    "git": _git,
    "tar": _tar,
    "bsdtar": _tar,
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "su": _command_option("-c", "--command", "--session-command"),
    "runuser": _command_option("-c", "--command"),
    "script": _command_option("-c", "--command"),
    "nix-shell": _command_option("--run", "--command"),
    "tmux": _eval,
    "ssh": _ssh,
    "docker": _container,
    "podman": _container,
    "kubectl": _container,
}
