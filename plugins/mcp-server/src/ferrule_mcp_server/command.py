"""Entry point of `ferrule mcp-server`; nothing is imported that another command would pay for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ferrule_mcp_server.arguments import OPTION_STRINGS, USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host


class McpServerCommand:
    """The sub-command, a `RawCommand`."""

    help = "Serve Ferrule to other agents as an MCP server."
    options: Sequence[str] = OPTION_STRINGS

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `mcp-server`; returns the exit code."""
        from ferrule_hookspecs.command_line import UsageError
        from ferrule_mcp_server.arguments import help_text, parse

        try:
            options = parse(argv)
        except UsageError as error:
            hint = "For more, try 'ferrule mcp-server --help'."
            sys.stderr.write(f"error: {error}\n\nUsage: {USAGE}\n\n{hint}\n")
            return 2
        if options.help:
            sys.stdout.write(help_text())
            return 0
        from ferrule_mcp_server.serve import serve

        return serve(options, host)


command = McpServerCommand()
