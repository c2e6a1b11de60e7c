"""Reading the arguments of a raw command: what is wrong is raised, so that the command tells it."""

from __future__ import annotations

import argparse
from typing import NoReturn


class UsageError(Exception):
    """The command line cannot be understood."""


class OptionParser(argparse.ArgumentParser):
    """The standard library's parser, which raises and never abbreviates or ends the process.

    `-h` is left to the command, and the texts stand in the help as they are written.
    """

    def __init__(
        self, prog: str, *, usage: str, description: str, epilog: str | None = None
    ) -> None:
        """Take the command's name and the texts of its help."""
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong.

        Raises:
            UsageError: Always.
        """
        raise UsageError(message)
