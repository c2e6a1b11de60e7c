"""Programs that run other programs: how to find what they run."""

from __future__ import annotations

import base64
import itertools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_rules.code_calls import CODE_READERS, argument_scripts
from ferrule_rules.reading import SHELLS, UNKNOWN, Word
from ferrule_rules.run_options import RUN_OPTIONS, is_run, option_scripts
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


_LINE_READERS: Final = frozenset({"watch", "git submodule foreach"})
"""Wrappers that give a single word to a shell."""
_MOST_SUFFIXES: Final = 16
_SPLIT_STRING: Final = re.compile(r"(?:-[0iv]*S|--split-string=)(.+)", re.S)
_SPLIT_NEXT: Final = re.compile(r"-[0iv]*S|--split-string")
_ENCODED: Final = re.compile(r"[-/](e|ec|en[a-z]*)", re.I)
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
    if name in RUN_OPTIONS:
        yield from map(_line(name), option_scripts(name, argv))
    if reader := _READERS.get(name):
        yield from reader(name, argv)
    elif name in WRAPPERS:
        yield from _after_options(name, argv, WRAPPERS[name])
    elif name in SUBCOMMANDS:
        yield from _after_subcommand(name, argv)


def _line(name: str) -> Callable[[Word], Inner]:
    """Make the inner command of a line that may not be known."""
    return lambda script: Inner(name, UNKNOWN) if script is None else Inner(name, script=script)


def _after_options(name: str, argv: Argv, layout: Layout) -> Iterator[Inner]:
    at, skipped = 1, 0
    while at < len(argv):
        word = argv[at]
        if (found := _script_option(name, argv, at)) is not None:
            yield from found
            return
        if name == "command" and word in ("-v", "-V"):
            return
        if word is not None and word.startswith("-") and word not in ("-", "--"):
            at += 2 if word in layout.with_value else 1
        elif layout.assigns and word is not None and _ASSIGNMENT.match(word):
            variable, _, value = word.partition("=")
            if is_run(variable):
                yield Inner(name, script=value)
            at += 1
        elif word == "--" or (word == "-" and name == "env"):
            at += 1
        elif skipped < layout.skip:
            skipped += 1
            at += 1
        else:
            break
    yield from _command_at(name, argv, at)


def _command_at(name: str, argv: Argv, at: int) -> Iterator[Inner]:
    """Read a wrapper's words from where its own options end."""
    rest = argv[at:]
    if rest and rest[0] and (name == "parallel" or (name in _LINE_READERS and len(rest) == 1)):
        yield from (Inner(name, script=word) for word in rest if word and word != ":::")
    if rest and name == "xargs":
        placeholder = _placeholder(argv[:at])
        rest = tuple(None if word == placeholder else word for word in rest)
    if rest:
        yield Inner(name, (*rest, None) if name in _FEEDERS else rest)


def _placeholder(options: Argv) -> str:
    """What `xargs -I` replaces."""
    for word, after in itertools.pairwise((*options, None)):
        if word in ("-I", "--replace"):
            return after or "{}"
        if word and word.startswith(("-I", "--replace=")):
            return word.removeprefix("--replace=").removeprefix("-I")
    return "{}"


def _script_option(name: str, argv: Argv, at: int) -> Iterator[Inner] | None:
    """Read an option whose value is a script."""
    word = argv[at]
    if word is None:
        return None
    if name == "env":
        if word in ("-S", "--split-string"):
            return _split_string(name, argv, at)
        if found := _SPLIT_STRING.fullmatch(word):
            return _split_string(name, (*argv[:at], "-S", found[1], *argv[at + 1 :]), at)
        if _SPLIT_NEXT.fullmatch(word):
            return _split_string(name, argv, at)
    if name == "flock" and word in ("-c", "--command"):
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
        yield _line(name)(script)


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
        if word and _ENCODED.fullmatch(word) and at + 1 < len(argv):
            yield _decoded(name, argv[at + 1])
            return


def _decoded(name: str, code: Word) -> Inner:
    try:
        script = base64.b64decode(code or "", validate=True).decode("utf-16-le")
    except ValueError:
        return Inner(name, UNKNOWN)
    return Inner(name, script=script, is_powershell=True)


def _eval(name: str, argv: Argv) -> Iterator[Inner]:
    words = argv[2:] if len(argv) > 1 and argv[1] == "--" else argv[1:]
    if None in words:
        yield Inner(name, UNKNOWN)
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
        *("-p", "-v", "-l", "-m", "-h", "--name", "--network", "--net", "--volume", "--publish"),
        *("--mount", "--label", "--hostname", "--platform", "--memory", "--cpus", "--gpus"),
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
        if "run" in argv:
            yield from _suffixes(name, argv[argv.index("run") :])
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


def _suffixes(name: str, argv: Argv) -> Iterator[Inner]:
    """Read a command that begins somewhere behind options: as if it did wherever it can."""
    for at, word in enumerate(argv[1:_MOST_SUFFIXES], 1):
        if word is None:
            yield Inner(name, UNKNOWN)
            return
        if word.startswith("-") or argv[at - 1] in _CONTAINER_VALUES:
            continue
        if re.search(r"\s", word.strip()):
            yield Inner(name, script=word)
        elif at > 1:
            yield Inner(name, argv[at:])


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
        setting, sign, value = (word or "").partition("=")
        if before == "-c" and sign:
            yield from _git_setting(name, setting, value)
        elif before and word and _GIT_ALIAS.match(before):
            yield from _git_setting(name, before, word)
        elif word and word.startswith("--config-env=") and _GIT_PROGRAM.search(word):
            yield Inner(name, UNKNOWN)
    yield from _after_subcommand(name, argv)


def _git_setting(name: str, setting: str, value: str) -> Iterator[Inner]:
    if value.startswith("!") or (_GIT_PROGRAM.match(setting) and not _GIT_ALIAS.match(setting)):
        yield Inner(name, script=value.lstrip("!"))
    elif _GIT_ALIAS.match(setting):
        yield Inner(name, script=f"git {value}")


def _code(name: str, argv: Argv) -> Iterator[Inner]:
    """Read what a program given on the command line of an interpreter runs."""
    if "--args" in argv:
        yield Inner(name, argv[argv.index("--args") + 1 :])
    yield from map(_line(name), argument_scripts(name, argv))


_GIT_PROGRAM: Final = re.compile(
    r"(--config-env=)?(core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy)"
    r"|sequence\.editor|diff\.external|(pager|interactive|credential|filter|difftool|mergetool|browser"
    r"|gpg|merge|diff|trailer|web|man|remote|instaweb|guitool|sendemail|tar|uploadpack)\."
    r"(.*\.)?(cmd|command|driver|textconv|program|helper|difffilter|clean|smudge|process|path|"
    r"uploadpack|receivepack|\w+)$|alias\.)",
    re.I,
)
_GIT_ALIAS: Final = re.compile(r"alias\.[^=\s]+$", re.I)
_READERS: Final[dict[str, Callable[[str, Argv], Iterator[Inner]]]] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(_POWERSHELLS, _powershell),
    **dict.fromkeys(CODE_READERS, _code),
    "set": _set,
    "alias": _alias,
    "git": _git,
    "eval": _eval,
    "trap": _trap,
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    **dict.fromkeys(("tmux", "nix", "xterm", "konsole", "screen"), _suffixes),
    "ssh": _ssh,
    "docker": _container,
    "podman": _container,
    "kubectl": _container,
}
