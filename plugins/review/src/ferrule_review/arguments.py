"""The command line of `ferrule review`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ferrule_hookspecs.command_line import OptionParser, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.change_review import ReviewTarget

USAGE = "ferrule review [OPTIONS] [PROMPT | --uncommitted | --base BRANCH | --commit SHA]"
_ABOUT = """\
Has a model review changes and say what should be mended: what is staged, changed or untracked,
unless you say otherwise. PROMPT is whatever else you want to have looked at. The result goes to
stdout, progress to stderr. The thread is kept, so that you can have the findings mended."""
_EPILOG = """\
exit status: 0 the review was completed, whatever it found; 1 it was not; 2 wrong usage"""
_OPTIONS: Final[tuple[tuple[tuple[str, ...], dict[str, Any]], ...]] = (
    (("--uncommitted",), {"action": "store_true", "help": "what is staged, changed or untracked"}),
    (("--base",), {"metavar": "BRANCH", "help": "all since this branch was left"}),
    (("--commit",), {"metavar": "SHA", "help": "what this commit changes"}),
    (("--title",), {"metavar": "TEXT", "help": "how to call the commit"}),
    (("--json",), {"action": "store_true", "help": "findings as JSON on stdout"}),
    (("-o", "--output"), {"metavar": "FILE", "help": "write the findings as JSON to FILE, too"}),
    (("-m", "--model"), {"metavar": "MODEL", "help": "model to use"}),
    (("-C", "--cd"), {"metavar": "DIR", "help": "where to review"}),
    (("-p", "--profile"), {"metavar": "NAME", "help": "use NAME.config.toml of the home"}),
    (
        ("-c", "--config"),
        {
            "action": "append",
            "default": [],
            "metavar": "KEY=VALUE",
            "help": "set a configuration value, in TOML; repeatable",
        },
    ),
    (("-h", "--help"), {"action": "store_true", "help": "show this help"}),
)
OPTION_STRINGS: Final = tuple(name for names, _ in _OPTIONS for name in names)


class Arguments(NamedTuple):
    """What a command line asks for; paths are absolute."""

    target: ReviewTarget
    cwd: str
    json: bool = False
    output: str | None = None
    model: str | None = None
    profile: str | None = None
    overrides: tuple[str, ...] = ()


def _parser() -> OptionParser:
    parser = OptionParser(
        "ferrule review",
        usage=USAGE,
        description=_ABOUT,
        epilog=_EPILOG,
    )
    for names, settings in _OPTIONS:
        parser.add_argument(*names, **settings)
    parser.add_argument("prompt", nargs="?", help="instructions of your own")
    return parser


def help_text() -> str:
    """Return the text of `--help`."""
    return _parser().format_help()


def parse(argv: Sequence[str]) -> Arguments | None:
    """Parse a command line; None asks for help.

    Raises:
        UsageError: The message says what is wrong.
    """
    found = _parser().parse_args(argv)
    if found.help:
        return None
    return Arguments(
        _target(found),
        os.path.abspath(found.cd) if found.cd else os.getcwd(),
        found.json,
        os.path.abspath(found.output) if found.output else None,
        found.model,
        found.profile,
        tuple(found.config),
    )


def _target(found: argparse.Namespace) -> ReviewTarget:
    options = {
        "--uncommitted": found.uncommitted,
        "--base": found.base is not None,
        "--commit": found.commit is not None,
        "a prompt": found.prompt is not None,
    }
    given = [name for name, is_given in options.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"one thing is reviewed at a time, but {' and '.join(given)} were given")
    if found.title is not None and found.commit is None:
        raise UsageError("--title names the commit of --commit")
    if found.base is not None:
        return {"type": "baseBranch", "branch": found.base}
    if found.commit is not None:
        return {"type": "commit", "sha": found.commit, "title": found.title}
    if found.prompt is not None:
        return {"type": "custom", "instructions": found.prompt}
    return {"type": "uncommittedChanges"}
