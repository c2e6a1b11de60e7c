"""`ferrule plugins new`: begins a plugin of one kind, with code that works and tests that pass."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_author.skeleton import Wish
    from ferrule_hookspecs.host import Host

_KIND_NAMES: Final = ("tool", "reviewer", "sandbox", "provider", "transport", "hooks", "command")
_LINE: Final = re.compile(r"""[^"\\\x00-\x1f\x7f]+""")
_LICENSE: Final = re.compile(r"[A-Za-z0-9.+() -]+")
_GIT_SECONDS: Final = 10
_EPILOG: Final = """\
The folder is ferrule-NAME, below the working directory or --path. Nothing is overwritten.
"""


class NewCommand:
    """The command line of `ferrule plugins new`."""

    help = "Begin a plugin: a package with working code, tests and a README."
    options: Sequence[str] = (
        *("--kind", "--path", "--author", "--description", "--license", "--json"),
        *("-h", "--help"),
    )

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Write the package; returns the exit code."""
        from ferrule_author.kinds import KINDS
        from ferrule_author.naming import refuse_taken
        from ferrule_author.skeleton import render, write

        arguments = _parser().parse_args(argv)
        wish = _wish(arguments, host)
        names = wish.names
        refuse_taken(names, KINDS[wish.kind].group, host)
        rendered = render(wish)
        folder = Path(arguments.path or ".", names.distribution).absolute()
        write(rendered, folder)
        if arguments.json:
            facts = {
                "folder": str(folder),
                "distribution": names.distribution,
                "module": names.module,
                "group": KINDS[wish.kind].group,
                "name": names.entry,
                "files": sorted(rendered),
            }
            sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        else:
            sys.stdout.write(_story(folder, rendered, has_license=bool(wish.license)))
        return 0


command = NewCommand()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ferrule plugins new",
        description=NewCommand.help,
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("name", metavar="NAME", help="such as acme-ticket")
    add("--kind", required=True, choices=_KIND_NAMES, help="what it is to be")
    add("--path", metavar="DIR", help="the folder to write into; the working directory without")
    add("--author", metavar="TEXT", help="'Ann <ann@example.com>'; what git knows without")
    add("--description", metavar="TEXT", help="one sentence")
    add("--license", metavar="SPDX", help="such as Apache-2.0; left open without")
    add("--json", action="store_true", help="print what was written as JSON")
    return parser


def _wish(arguments: argparse.Namespace, host: Host) -> Wish:
    from ferrule_author.skeleton import Wish

    author = _git_author() if arguments.author is None else arguments.author
    return Wish(
        arguments.name,
        arguments.kind,
        host.version,
        _one_line("--description", arguments.description or ""),
        _one_line("--author", author),
        _one_line("--license", arguments.license or "", _LICENSE),
    )


def _one_line(option: str, text: str, form: re.Pattern[str] = _LINE) -> str:
    if text and not form.fullmatch(text):
        raise FerruleError(f"{option} {text!r} cannot be written: take one line of plain text")
    return text.strip()


def _git_author() -> str:
    """Return whom git commits are by; empty where git is not there or does not know."""
    try:
        told = subprocess.run(
            ["git", "config", "--get-regexp", r"^user\.(name|email)$"],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
        ).stdout
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    lines = (line.partition(" ") for line in told.splitlines())
    known = {key: value for key, _, value in lines}
    text = known.get("user.name", "")
    if text and (address := known.get("user.email")):
        text += f" <{address}>"
    return text if _LINE.fullmatch(text) else ""


def _story(folder: Path, rendered: Mapping[str, str], *, has_license: bool) -> str:
    lines = [f"wrote {folder}:", *(f"  {path}" for path in sorted(rendered)), ""]
    if not has_license:
        lines += ["No licence is chosen: that is yours to do, in pyproject.toml and LICENSE.", ""]
    lines += [
        "Next:",
        f"  cd {folder}",
        "  ferrule plugins check .    # what is left to do",
        "  pytest                     # needs ferrule-testkit",
        "  ferrule --dev-plugin . …   # README.md says what to try",
    ]
    return "\n".join(lines) + "\n"
