"""The overview of commands, and what is said to a command line that names none.

Called by `ferrule.cli` for `--help`, for no command and for wrong ones. Made of the index: no
plugin is imported, and no library, so that it works in a lean installation.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from ferrule.catalog import CATALOG, distribution_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.entry import Entry

_COMMANDS: Final = "ferrule.commands"
_HEAD: Final = """\
Usage: ferrule [OPTIONS] COMMAND [ARGS]...

  A coding-agent harness: a small kernel in which every part is a plugin.
"""
_OPTIONS: Final = (
    ("-c, --config KEY=VALUE", "Set one configuration key."),
    ("-p, --profile NAME", "Read NAME.config.toml as well."),
    ("-C, --cd DIR", "Working directory."),
    ("--safe-mode", "Load no third-party plugin."),
    ("--no-plugin NAME", "Leave a plugin out."),
    ("--dev-plugin PATH", "Load a plugin from a checkout."),
    ("-V, --version", "Show the version."),
    ("-h, --help", "Show this message and exit."),
)
_HELP: Final = ("-h", "--help")
_WRONG_USAGE: Final = 2
_NO_MODULE: Final = re.compile("ModuleNotFoundError: No module named '([^'.]+)")


def show_usage(entries: Sequence[Entry], command: str | None, rest: Sequence[str]) -> int:
    """Show the help, or what is wrong with a command line; returns the exit code.

    Args:
        entries: The commands that may be used.
        command: The name that is no command; None where none was given.
        rest: What stands behind the name, or where a name should stand.
    """
    if command is None and rest and rest[0] in _HELP:
        sys.stdout.write(_overview(entries))
        return 0
    if command is None and not rest:
        sys.stderr.write(_overview(entries))
        return _WRONG_USAGE
    sys.stderr.write(
        "Usage: ferrule [OPTIONS] COMMAND [ARGS]...\nTry 'ferrule --help' for help.\n\n"
        f"Error: {_problem(entries, command, rest)}\n"
    )
    return _WRONG_USAGE


def _problem(entries: Sequence[Entry], command: str | None, rest: Sequence[str]) -> str:
    if command is None:
        option = rest[0].partition("=")[0]
        known = [word for names, _ in _OPTIONS for word in names.replace(",", "").split()]
        guess = suggestion(option, [word for word in known if word.startswith("-")])
        return f"No such option: {option}.{guess}"
    installed = {entry.name for entry in entries}
    guess = suggestion(command, sorted(installed | set(CATALOG[_COMMANDS])))
    return f"No such command {command!r}.{guess or ' See: ferrule --help'}"


def suggestion(word: str, known: Sequence[str]) -> str:
    """Ask for the nearest known word, with a space in front; empty where none is near."""
    near = get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _overview(entries: Sequence[Entry]) -> str:
    names = sorted({entry.name: entry for entry in entries}.values(), key=lambda entry: entry.name)
    options = _table(_OPTIONS)
    commands = _table([(entry.name, _help(entry)) for entry in names])
    return f"{_HEAD}\nOptions:\n{options}\nCommands:\n{commands}"


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(left) for left, _ in rows), default=0)
    return "".join(f"  {left:<{width}}  {right}".rstrip() + "\n" for left, right in rows)


def _help(entry: Entry) -> str:
    if library := missing_library(entry.fault):
        return f"Needs {library}, which is not installed."
    if entry.fault:
        return f"Broken: {entry.fault}"
    return entry.help.partition("\n")[0]


def missing_library(fault: str) -> str:
    """Name the library without which a command of ours cannot run; empty for any other fault."""
    match = _NO_MODULE.match(fault)
    return match[1] if match and match[1] in ("typer", "pydantic", "tomlkit") else ""


def install_hint(command: str, library: str) -> str:
    """Say what to install for a command whose library is missing."""
    distribution = distribution_of(_COMMANDS, command) or "its distribution"
    if distribution == "ferrule-core":
        distribution = "ferrule-core[commands]"
    return (
        f"the command {command!r} needs {library}, which a lean installation has not;"
        f" install {distribution!r}, or 'ferrule' for the standard set"
    )
