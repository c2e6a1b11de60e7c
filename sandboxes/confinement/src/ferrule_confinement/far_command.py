"""The shell script that runs one command where its session's anchor is.

It gives the command exactly its environment and its working directory, waits for it, and ends what
is left of its session. Bytes that are not UTF-8 pass, because no engine's JSON is in between.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import Command

# Signals for the whole group reach this shell, too: it must live to tell how the command ended. Its
# own standard error is closed to what shells say about children that a signal ended.
_BEFORE = """cd -- %s 2>/dev/null || {
    echo "the working directory" %s "does not exist" >&2
    exit 1
}
trap : HUP INT QUIT TERM USR1 USR2
exec 9>&2 2>/dev/null
"""
_AFTER = """code=$?
exec 9>&-
left=$(grep -l "^NSsid:[[:space:]]*$$\\$" /proc/[0-9]*/status | tr -dc '0-9\\n' | grep -vx $$)
[ -n "$left" ] && kill -9 $left
exit $code
"""


def command_script(command: Command, prefix: tuple[str, ...] = (), before: str = "") -> bytes:
    """Write the script of a command.

    Args:
        command: The command.
        prefix: What it is run by, such as a sandbox on the far side.
        before: Lines to begin with.
    """
    cwd = quoted(command.cwd)
    words = [
        "exec",
        "env",
        "-i",
        *(quoted(f"{name}={value}") for name, value in command.env.items()),
    ]
    argv = (*prefix, *command.argv)
    if argv and "=" in argv[0]:  # what `env` would take for a variable
        argv = ("/bin/sh", "-c", 'exec "$0" "$@"', *argv)
    words += map(quoted, argv)
    lines = f"{before}{_BEFORE % (cwd, cwd)}({' '.join(words)} 2>&9 9>&-)\n{_AFTER}"
    return os.fsencode(lines)


def quoted(word: str) -> str:
    """Quote a word for a POSIX shell."""
    return "'" + word.replace("'", "'\\''") + "'"
