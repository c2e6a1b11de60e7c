"""The Typer side of the command line: the list of commands, usage errors and Typer apps.

Imported only when something of that is needed; Typer takes longer to import than most commands run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

from ferrule_hookspecs.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer.core import TyperGroup

    from ferrule.entry import Entry
    from ferrule_hookspecs.host import Host

_HELP = "A coding-agent harness: a small kernel in which every part is a plugin."


def run_group(entries: Sequence[Entry], argv: Sequence[str]) -> int:
    """Show the help or the usage error that a command line without a known command asks for."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=_markup(),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_global_options)
    group = cast("TyperGroup", typer.main.get_command(app))
    group.commands.update({entry.name: _stub(entry) for entry in entries})
    return _exit_code(group, "ferrule", argv, None)


def run_app(app: object, name: str, argv: Sequence[str], host: Host) -> int:
    """Run a Typer app with the host as its context object."""
    if not isinstance(app, typer.Typer):
        raise PluginError(f"{name}: a command must be a RawCommand or a Typer app, not {app!r}")
    app.rich_markup_mode = _markup()
    app._add_completion = False  # pyright: ignore[reportPrivateUsage] -- `ferrule completion` does it
    return _exit_code(typer.main.get_command(app), name, argv, host)


def _stub(entry: Entry) -> TyperCommand:
    """Stand for a command in lists; the real one is called before a group is ever made."""
    text = f"Broken: {entry.fault}" if entry.fault else entry.help
    return TyperCommand(entry.name, help=text, rich_markup_mode=_markup())


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


def _global_options(
    *,
    _config: Annotated[
        list[str] | None,
        typer.Option("-c", "--config", metavar="KEY=VALUE", help="Set one configuration key."),
    ] = None,
    _profile: Annotated[
        str | None, typer.Option("-p", "--profile", help="Read NAME.config.toml as well.")
    ] = None,
    _cd: Annotated[
        str | None, typer.Option("-C", "--cd", metavar="DIR", help="Working directory.")
    ] = None,
    _safe_mode: Annotated[
        bool, typer.Option("--safe-mode", help="Load no third-party plugin.")
    ] = False,
    _no_plugin: Annotated[
        list[str] | None, typer.Option("--no-plugin", metavar="NAME", help="Leave a plugin out.")
    ] = None,
    _dev_plugin: Annotated[
        list[str] | None,
        typer.Option("--dev-plugin", metavar="PATH", help="Load a plugin from a checkout."),
    ] = None,
    _version: Annotated[bool, typer.Option("-V", "--version", help="Show the version.")] = False,
) -> None:
    """Say what may stand before a command; `ferrule.cli` has acted on it already."""
