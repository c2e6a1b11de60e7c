"""Runs commands that are Typer apps.

Imported only for those; Typer takes longer to import than most commands run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from ferrule.cli import call_command, take_apart
from ferrule.command_words import WORD_GROUPS, find_word, list_words
from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule.host import LocalHost


def run_app(app: object, name: str, argv: Sequence[str], host: LocalHost) -> int:
    """Run the Typer app of a command, with the host as its context object."""
    if not isinstance(app, typer.Typer):
        raise PluginError(
            f"ferrule {name}: a command must be a RawCommand or a Typer app, not {app!r}"
        )
    app.rich_markup_mode = _markup()
    app._add_completion = False  # pyright: ignore[reportPrivateUsage] -- `ferrule completion` does it
    command: Any = typer.main.get_command(app)
    own: dict[str, object] = getattr(command, "commands", {})
    if name in WORD_GROUPS and take_apart(argv).command not in own:  # words hide none of its own
        if word := find_word(host, name, argv):
            return call_command(*word, host)
        for entry in list_words(host, name):  # for its help, and for its guesses
            own.setdefault(entry.name, TyperCommand(entry.name, help=entry.help))
    return _exit_code(command, f"ferrule {name}", argv, host)


def _markup() -> Any:  # noqa: ANN401 -- Typer does not export the type
    """Rich takes as long to import as everything else together; people need it, pipes do not."""
    return "rich" if sys.stdout.isatty() else None


def _exit_code(command: Any, name: str, argv: Sequence[str], host: object) -> int:  # noqa: ANN401
    stdout = sys.stdout
    try:
        command(args=list(argv), prog_name=name, obj=host)
    except SystemExit as end:
        if sys.stdout is not stdout:  # Typer wraps the streams only when the reader is gone
            sys.stdout = stdout
            raise BrokenPipeError from end
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0
