"""The argument parser of the kernel's own raw commands: it guesses what was meant."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from difflib import get_close_matches
from typing import Final, NoReturn

_WRONG: Final = re.compile(r"unrecognized arguments: (-[^\s=]+)|invalid choice: '([^']*)'")


class GuessingParser(ArgumentParser):
    """Adds the nearest option or value to the message about one that does not exist."""

    def error(self, message: str) -> NoReturn:
        """Show what is wrong and end with 2."""
        known = list(self._option_string_actions)
        for action in self._actions:
            known += map(str, action.choices or ())
        if match := _WRONG.search(message):
            near = get_close_matches(match[1] or match[2], known, n=1)
            message += f"; did you mean {near[0]!r}?" if near else ""
        super().error(message)
