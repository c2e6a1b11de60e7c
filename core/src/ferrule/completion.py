"""Answers what a shell asks while a command line is typed. The scripts are in `commands/`.

Nothing of a plugin is imported here: names and options come from the index. The kernel's own
commands are Typer apps and are looked into.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ferrule.cli import (
    PASSED_OPTIONS,
    PLUGIN_OPTIONS,
    home_folder,
    listed_commands,
    take_apart,
)
from ferrule.command_words import WORD_GROUPS, list_words
from ferrule.host import LocalHost

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    from ferrule.entry import Entry

_OPTIONS: Final = (*PASSED_OPTIONS, *PLUGIN_OPTIONS, "--safe-mode", "--help", "--version")
_PROFILE: Final = ("-p", "--profile")


class Candidate(NamedTuple):
    """One word a shell may offer."""

    word: str
    help: str = ""


def complete(words: Sequence[str], environ: MutableMapping[str, str]) -> int:
    """Write the candidates for the last word, one a line, as the shell wants them.

    Args:
        words: The shell's name, then the words after the program's name; the last is unfinished.
        environ: The process environment.
    """
    shell, *typed = words
    prefix = typed[-1] if typed else ""
    for candidate in sorted(set(_candidates(typed[:-1], prefix, environ))):
        if candidate.word.startswith(prefix):
            sys.stdout.write(_line(shell, candidate) + "\n")
    return 0


def _line(shell: str, candidate: Candidate) -> str:
    if shell == "bash" or not candidate.help:
        return candidate.word
    if shell == "zsh":
        return candidate.word.replace(":", r"\:") + ":" + candidate.help
    return f"{candidate.word}\t{candidate.help}"


def _candidates(
    before: Sequence[str], prefix: str, environ: MutableMapping[str, str]
) -> Iterator[Candidate]:
    line = take_apart(before)
    environ.update(line.environ)
    host = LocalHost(home_folder(environ), environ)
    if before and before[-1] in _PROFILE:
        for file in host.home.glob("*.config.toml"):
            yield Candidate(file.name.removesuffix(".config.toml"))
        return
    commands = listed_commands(host)
    if line.command is None:
        yield from (Candidate(entry.name, entry.help) for entry in commands)
        yield from map(Candidate, _OPTIONS if prefix.startswith("-") else ())
        return
    for entry in commands:
        if entry.name == line.command:
            words = _words_of(entry, line.rest, host)
            yield from (word for word in words if word.word.startswith("-") <= (prefix[:1] == "-"))


def _words_of(entry: Entry, rest: Sequence[str], host: LocalHost) -> Iterator[Candidate]:
    words = list_words(host, entry.name) if entry.name in WORD_GROUPS else []
    if named := [word for word in words if rest and word.name == rest[0]]:
        yield from map(Candidate, named[0].options)
        return
    yield from map(Candidate, entry.options)
    if not rest:
        yield from (Candidate(word.name, word.help) for word in words)
    if entry.distribution == "ferrule-core":
        from ferrule.loading import load_target

        target = load_target(entry.target, entry.roots, entry.import_path)
        if not hasattr(target, "main"):
            yield from _words_of_app(target, rest)


def _words_of_app(app: Any, rest: Sequence[str]) -> Iterator[Candidate]:  # noqa: ANN401
    from typer.main import get_command

    app._add_completion = False
    command: Any = get_command(app)
    for word in rest:
        command = getattr(command, "commands", {}).get(word, command)
    context = command.context_class(command, resilient_parsing=True)
    for name, inner in getattr(command, "commands", {}).items():
        yield Candidate(name, inner.get_short_help_str())
    for parameter in command.params:
        if parameter.param_type_name == "option":
            yield from map(Candidate, parameter.opts)
        else:
            found = parameter.shell_complete(context, "")
            yield from (Candidate(item.value) for item in found if item.type == "plain")
    yield Candidate("--help")
