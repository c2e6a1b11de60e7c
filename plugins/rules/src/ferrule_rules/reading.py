"""What the lenient reader finds in a script."""

from __future__ import annotations

from typing import Final, NamedTuple

DEEPEST: Final = 8
"""How many wrappers may be around a command, and scripts around a script."""
MOST_VALUES: Final = 16
"""How many values a word may have before it counts as unknown."""
MOST_COMMANDS: Final = 5000
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"})
PRINTERS: Final = frozenset({"echo", "printf"})


class GlobWord(str):
    """A word with a wildcard that the shell replaces by names of files."""

    __slots__ = ()


class SplitWord(str):
    """Several words that stand as one: what braces were expanded to."""

    __slots__ = ()


Word = str | None
"""None where it cannot be known."""
Values = tuple[Word, ...]
"""The values a word may have; a None among them stands for everything else."""
UNKNOWN: Final[tuple[Word, ...]] = (None,) * 8
"""A command line of which nothing is known: it may be any."""


class Redirect(NamedTuple):
    """A file that a command's output goes to; None where its name cannot be known."""

    operator: str
    target: Word


class FoundCommand(NamedTuple):
    """A command somewhere in a script.

    Attributes:
        argv: Its words; None for one that cannot be known.
        redirects: Files it writes to.
        wrapped_in: Programs that run it, outermost first.
        text: How it stands in the script.
        fed_by: Programs whose output it reads.
    """

    argv: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    wrapped_in: tuple[str, ...] = ()
    text: str = ""
    fed_by: tuple[str, ...] = ()


class Reading(NamedTuple):
    """What a script was found to do.

    Attributes:
        commands: Every command found, the wrapped ones after their wrappers.
        is_whole: Whether all of it was read; a script that is too long or too deep is not.
        has_errors: Whether some of it is not the syntax of a shell.
    """

    commands: tuple[FoundCommand, ...]
    is_whole: bool = True
    has_errors: bool = False
