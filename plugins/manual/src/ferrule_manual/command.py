"""`ferrule help`: shows a page of the manual, or the help of a command that has none."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hookspecs.host import Host
    from ferrule_manual.topics import Topic

_USAGE: Final = """\
usage: ferrule help [TOPIC]

Shows a page of the manual. Without a topic it lists the topics; the name of a command without a
page shows the options of the command.
"""
_LESS: Final = "FRX"
"""Show short pages at once, keep colours, leave the text on the screen."""


class HelpCommand:
    """The sub-command, a `RawCommand`."""

    help = "Show a page of the manual."

    @property
    def options(self) -> Sequence[str]:
        """The topics, for completion."""
        from ferrule_manual.topics import topics

        return tuple(topics())

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `help`; returns the exit code."""
        from ferrule_manual.topics import plain, topics

        pages = topics()
        if any(word in ("-h", "--help") for word in argv):
            sys.stdout.write(_USAGE)
            return 0
        if not argv:
            return _show(_overview(pages), host.environ)
        words = [word for word in argv if not word.startswith("-")]
        if words != list(argv):
            sys.stderr.write(f"error: unexpected option {argv[0]!r}\n\n{_USAGE}")
            return 2
        if words[0] in pages:
            return _show(plain(pages[words[0]]), host.environ)
        commands = _commands()
        if words[0] in commands:
            return host.invoke(words[0], [*words[1:], "--help"])
        sys.stderr.write(_unknown(words[0], {*pages, *commands}))
        return 2


command = HelpCommand()


def _overview(pages: Mapping[str, Topic]) -> str:
    width = max(map(len, pages))
    rows = [f"  {page.name:<{width}}  {page.summary}" for page in pages.values()]
    return "\n".join(["Topics, each shown by `ferrule help TOPIC`:", "", *rows, "", _END])


_END: Final = """\
`ferrule --help` lists the commands, `ferrule COMMAND --help` their options.
"""


def _unknown(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    return f"error: there is no help about {name!r}{guess}\n`ferrule help` lists the topics.\n"


def _commands() -> set[str]:
    from importlib.metadata import entry_points

    return {entry.name for entry in entry_points(group="ferrule.commands")}


def _show(text: str, environ: Mapping[str, str]) -> int:
    """Write plain text into a pipe or a file; page it on a terminal."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        sys.stdout.write(text)
        return 0
    from pydoc import pager

    if "LESS" not in environ:
        os.environ["LESS"] = _LESS
    pager(text)
    return 0
