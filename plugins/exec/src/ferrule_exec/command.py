"""Entry point of `ferrule exec`; nothing is imported here that another command would pay for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_exec.options import OPTION_STRINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host


class ExecCommand:
    """The sub-command, a `RawCommand`."""

    help = "Run a prompt without a terminal interface."
    options: Sequence[str] = (*OPTION_STRINGS, "resume", "fork", "review")

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `exec`; returns the exit code."""
        from ferrule_exec.arguments import USAGE, help_text, parse
        from ferrule_exec.stream import Stream
        from ferrule_hookspecs.command_line import UsageError

        try:
            arguments = parse(argv)
        except UsageError as error:
            hint = "For more, try 'ferrule exec --help'."
            Stream(2).write(f"error: {error}\n\nUsage: {USAGE}\n\n{hint}\n")
            return 2
        if arguments is None:
            Stream(1).write(help_text())
            return 0
        from ferrule_exec.run import run

        return run(arguments, host)


command = ExecCommand()
