"""Words that plugins add to a command of the kernel, such as `certify` to `ferrule sandbox`.

They are entry points of a group of the command's own, made and called like commands, so that their
names and help lines are known without importing any of them. Behind `ferrule sandbox` a word
stands where a program's name would; `ferrule sandbox -- WORD` runs a program of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_hookspecs.slots import PLUGIN_COMMAND_GROUP, SANDBOX_COMMAND_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule.entry import Entry
    from ferrule.host import LocalHost

WORD_GROUPS: Final[Mapping[str, str]] = {
    "plugins": PLUGIN_COMMAND_GROUP,
    "sandbox": SANDBOX_COMMAND_GROUP,
}
"""Commands that take words of plugins, with the group of these."""
_OTHER_MEANINGS: Final = {"sandbox": "; a program of this name runs with: ferrule sandbox -- …"}


class Word(NamedTuple):
    """A word found on a command line, with what is to be handed to it."""

    entry: Entry
    argv: Sequence[str]


def find_word(host: LocalHost, command: str, argv: Sequence[str]) -> Word | None:
    """Find the word that stands behind a command; None where none does.

    Options of the `ferrule` program may stand before it.

    Raises:
        PluginError: It is part of a distribution that is not installed or may not be used.
    """
    from ferrule.cli import find_command, missing_command, take_apart
    from ferrule_hookspecs.errors import PluginError

    line = take_apart(argv)
    if line.command is None or line.environ:
        return None
    entry = find_command(host, line.command, WORD_GROUPS[command])
    if entry is not None:
        return Word(entry, [*line.passed, *line.rest])
    if missing := missing_command(line.command, WORD_GROUPS[command]):
        raise PluginError(f"{missing}{_OTHER_MEANINGS.get(command, '')}")
    return None


def list_words(host: LocalHost, command: str) -> list[Entry]:
    """List the words of a command that may be used, by name, with their help."""
    from ferrule.cli import listed_commands

    return sorted(listed_commands(host, WORD_GROUPS[command]), key=lambda entry: entry.name)


def words_help(host: LocalHost, command: str) -> str:
    """Lay out the words of a command with their help lines; empty where there are none."""
    entries = list_words(host, command)
    if not entries:
        return ""
    width = max(len(entry.name) for entry in entries)
    lines = [f"  {entry.name:<{width}}  {entry.help}".rstrip() for entry in entries]
    return "instead of a command (a program of such a name runs after --):\n" + "\n".join(lines)
