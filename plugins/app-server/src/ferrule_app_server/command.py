"""Entry point of `ferrule app-server`; nothing is imported that another command would pay for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ferrule_app_server.arguments import OPTION_STRINGS, SUBCOMMANDS, USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host


class AppServerCommand:
    """The sub-command, a `RawCommand`."""

    help = "Serve threads to editors and other programs."
    options: Sequence[str] = (*OPTION_STRINGS, *SUBCOMMANDS)

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `app-server`; returns the exit code."""
        from ferrule_app_server.arguments import help_text, parse
        from ferrule_hookspecs.command_line import UsageError

        try:
            options, name, rest = parse(argv)
        except UsageError as error:
            hint = "For more, try 'ferrule app-server --help'."
            sys.stderr.write(f"error: {error}\n\nUsage: {USAGE}\n\n{hint}\n")
            return 2
        if options.help:
            sys.stdout.write(help_text())
            return 0
        if name is not None:
            from importlib import import_module

            module, _, attribute = SUBCOMMANDS[name].partition(":")
            return getattr(import_module(module), attribute)([name, *rest], host, options)
        from ferrule_app_server.serve import serve

        return serve(options, host)


command = AppServerCommand()
