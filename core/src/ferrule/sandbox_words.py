"""The words that `ferrule sandbox` knows beside programs, such as `certify` and `explain`.

They are entry points of the group `ferrule.sandbox_commands`, made and called like commands, so
that their names and help lines are known without importing any of them. A word counts where the
program's name would stand; `ferrule sandbox -- WORD` runs a program of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.slots import SANDBOX_COMMAND_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.entry import Entry
    from ferrule.host import LocalHost


class Word(NamedTuple):
    """A word found on a command line, with what is to be handed to it."""

    entry: Entry
    argv: Sequence[str]


def find_word(host: LocalHost, argv: Sequence[str]) -> Word | None:
    """Find the word a command line of `ferrule sandbox` begins with; None where it has none.

    Options of the `ferrule` program may stand before it.

    Raises:
        PluginError: It is part of a distribution that is not installed or may not be used.
    """
    from ferrule.cli import find_command, missing_command, take_apart
    from ferrule_hookspecs.errors import PluginError

    line = take_apart(argv)
    if line.command is None or line.environ:
        return None
    entry = find_command(host, line.command, SANDBOX_COMMAND_GROUP)
    if entry is not None:
        return Word(entry, [*line.passed, *line.rest])
    if missing := missing_command(line.command, SANDBOX_COMMAND_GROUP):
        raise PluginError(f"{missing}; a program of this name runs with: ferrule sandbox -- …")
    return None


def words_help(host: LocalHost) -> str:
    """List the words that may be used, with their help lines; empty where there are none."""
    from ferrule.cli import listed_commands

    entries = sorted(listed_commands(host, SANDBOX_COMMAND_GROUP), key=lambda entry: entry.name)
    if not entries:
        return ""
    width = max(len(entry.name) for entry in entries)
    lines = [f"  {entry.name:<{width}}  {entry.help}".rstrip() for entry in entries]
    return "instead of a command (a program of such a name runs after --):\n" + "\n".join(lines)
