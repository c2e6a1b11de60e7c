"""`ferrule update-check`: asks the package index whether there is a newer version.

The only place in Ferrule that looks for updates, and only when somebody types the command.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host


class UpdateCheckCommand:
    """The sub-command, a `RawCommand`."""

    help = "Ask the package index for a newer version."
    options: Sequence[str] = ("--index-url", "--json", "--pre", "--timeout", "--help")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `update-check`; returns the exit code."""
        import argparse
        import json

        from ferrule_manual.index import Index
        from ferrule_manual.installer import how_to_upgrade

        parser = _parser(argparse.ArgumentParser)
        try:
            arguments, unknown = parser.parse_known_args(argv)
            if unknown:
                parser.error(f"unexpected {unknown[0]!r}{_guess(unknown[0], self.options)}")
        except SystemExit as end:
            return int(end.code or 0)
        index = Index.configured(arguments.index_url, host.environ)
        newest = index.newest("ferrule", with_prereleases=arguments.pre, timeout=arguments.timeout)
        upgrade = how_to_upgrade()
        is_newer = _is_newer(newest, host.version)
        if arguments.json:
            facts = {
                "installed": host.version,
                "newest": newest,
                "updateAvailable": is_newer,
                "index": index.shown_url,
                "installer": upgrade.installer,
                "upgrade": upgrade.command if is_newer else None,
            }
            sys.stdout.write(json.dumps(facts, indent=2) + "\n")
            return 0
        sys.stdout.write(_sentence(host.version, newest, upgrade.command if is_newer else ""))
        return 0


command = UpdateCheckCommand()

_TIMEOUT_S: Final = 10.0


def _parser(make: type[ArgumentParser]) -> ArgumentParser:
    parser = make(
        prog="ferrule update-check",
        description="Ask the package index whether there is a newer version of Ferrule. Nothing is"
        " installed, and nothing else in Ferrule ever asks.",
        epilog="The index is --index-url, else UV_DEFAULT_INDEX, UV_INDEX_URL or PIP_INDEX_URL,"
        " else pypi.org. Proxies are taken from the environment.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--pre", action="store_true", help="count prereleases")
    parser.add_argument("--index-url", metavar="URL", help="simple index to ask")
    parser.add_argument(
        "--timeout",
        type=float,
        default=_TIMEOUT_S,
        metavar="SECONDS",
        help=f"how long to wait for the index (default: {_TIMEOUT_S:g})",
    )
    return parser


def _guess(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word.partition("=")[0], known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _is_newer(newest: str, installed: str) -> bool:
    from packaging.version import Version

    return Version(newest) > Version(installed)


def _sentence(installed: str, newest: str, upgrade: str) -> str:
    if not upgrade:
        return f"Ferrule {installed} is up to date; the newest version on the index is {newest}.\n"
    return f"Ferrule {newest} is available, installed is {installed}. To upgrade: {upgrade}\n"


if TYPE_CHECKING:
    from argparse import ArgumentParser
