"""Entry point of `ferrule review`; nothing is imported here that another command would pay for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.host import Host


class ReviewCommand:
    """The sub-command, a `RawCommand`."""

    help = "Have a model review changes: uncommitted ones, a branch, a commit."

    @property
    def options(self) -> Sequence[str]:
        """Option strings, for completion."""
        from ferrule_review.arguments import OPTION_STRINGS

        return OPTION_STRINGS

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after `review`; returns the exit code."""
        from ferrule_hookspecs.command_line import UsageError
        from ferrule_review.arguments import USAGE, help_text, parse

        try:
            arguments = parse(argv)
        except UsageError as error:
            hint = "For more, try 'ferrule review --help'."
            sys.stderr.write(f"error: {error}\n\nUsage: {USAGE}\n\n{hint}\n")
            return 2
        if arguments is None:
            sys.stdout.write(help_text())
            return 0
        from ferrule_review.run import run

        return run(arguments, host)


command = ReviewCommand()
