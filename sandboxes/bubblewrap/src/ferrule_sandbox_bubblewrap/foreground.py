"""Makes a command on a terminal the terminal's foreground process group.

bubblewrap's monitor leads the session that the terminal controls, and what the sandbox starts is in
its group: an interrupt typed at the terminal would end the monitor, and the whole sandbox with it.
A shell with job control gives the command a group of its own. Its exit code comes back over a pipe,
because the shell cannot give the terminal back to a group outside of the sandbox, and says so by
failing. Only commands on a terminal pay for these two small shells.
"""

from __future__ import annotations

from typing import Final

_JOB: Final = '"$@" 3>&-; echo $? >&3; exec 2>/dev/null'
_SCRIPT: Final = f"{{ code=$(/bin/sh -m -c '{_JOB}' sh \"$@\" 3>&1 >&4 4>&-); }} 4>&1; exit $code"


def foreground_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Wrap a command that gets a terminal."""
    return ("/bin/sh", "-c", _SCRIPT, "sh", *argv)
