"""Command lines and environments as Windows takes them: one text each.

A program splits its command line itself, nearly always by the rules of `CommandLineToArgvW`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_CHARACTERS: Final = 32_767
_PLAIN: Final = re.compile(r"[^\s\"]+\Z")


def command_line(argv: Sequence[str]) -> str:
    """Write a program and its arguments so that it finds them again.

    Raises:
        SandboxUnavailableError: There is no such command line.
    """
    program, *arguments = argv
    if '"' in program or any("\0" in word for word in argv):
        raise SandboxUnavailableError(
            f"{program!r} cannot be run: the name of a program must not hold quotation marks, and"
            " no argument a zero byte"
        )
    # The name of the program is split by simpler rules: quotes only, backslashes mean nothing.
    line = " ".join([f'"{program}"', *map(_quoted, arguments)])
    if len(line.encode("utf-16-le", "surrogatepass")) // 2 >= _MAX_CHARACTERS:
        raise SandboxUnavailableError(
            f"the arguments of {program!r} are longer than the 32,766 characters that Windows takes"
        )
    return line


def environment_entries(env: Mapping[str, str]) -> list[str]:
    """Write variables as `NAME=value`, sorted as Windows wants them, one of each name.

    Raises:
        SandboxUnavailableError: A name or a value cannot be written.
    """
    for name, value in env.items():
        if not name or "=" in name[1:] or "\0" in name + value:
            raise SandboxUnavailableError(
                f"the environment variable {name!r} cannot be handed to a command on Windows"
            )
    # Names in other letters are the same variable; the last one counts.
    named = {name.upper(): f"{name}={value}" for name, value in env.items()}
    return [named[name] for name in sorted(named)]


def environment_block(env: Mapping[str, str]) -> str:
    """Write variables as one text in which a zero ends each, and one more the whole."""
    return "".join(f"{entry}\0" for entry in environment_entries(env)) + "\0"


def _quoted(argument: str) -> str:
    if _PLAIN.match(argument):
        return argument
    # Backslashes count only before a quotation mark, the closing one included: there they double.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', argument)
    return '"' + re.sub(r"(\\+)\Z", r"\1\1", escaped) + '"'
