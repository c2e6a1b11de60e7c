"""Takes stand-ins away when the process that put them there was killed.

One small shell per session, no interpreter. It reads what to look after from a pipe; the end of the
pipe means that the session is gone, for whatever reason. A session that ends in good order says so.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import Final

# The lock is not given while something of the killed session still runs, which the kernel ends, nor
# while another session needs the stand-in, which takes it away itself. What is locked must be what
# is removed: the one that was opened may have gone meanwhile, and another's stand in its place.
_SCRIPT: Final = r"""
is_ours() { [ "$(stat -c %Y -- "$1")" = 1000000000 ]; }
is_locked() { flock -xn 9 && [ "$(stat -Lc %d:%i /dev/fd/9)" = "$(stat -c %d:%i -- "$1")" ]; }
take() {
    for pause in 0.1 0.2 0.4 0.8 1.6 3 5 10; do
        is_ours "$2" || return
        { is_locked "$2" && "$1" -- "$2" && return; } 9<"$2"
        sleep "$pause"
    done
}
while IFS= read -r line; do
    case $line in
    quit) exit 0 ;;
    -*) for old; do shift; [ "-$old" = "$line" ] || set -- "$@" "$old"; done ;;
    *) set -- "$@" "$line" ;;
    esac
done
for line; do
    path=${line#?}
    case $line in
    d*) take rmdir "$path" ;;
    f*) take unlink "$path" ;;
    l*) link=${path%%//*} target=${path#*//}
        [ "$(readlink "$link")" = "$target" ] && continue
        mv -- "$link" "$link.rejected-$$"
        ln -s -- "$target" "$link" ;;
    esac
done 2>/dev/null
"""


class Watchdog:
    """The shell that outlives a killed session, started when it is first needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._known: set[str] = set()

    def watch(self, kind: str, path: str) -> None:
        """Look after a folder (`d`), a file (`f`) or a link (`l`, target after two slashes).

        A folder or file may be announced before it is there: only what bears the stamp of a
        stand-in is ever removed.
        """
        line = kind + path
        if line not in self._known and "\n" not in line:
            self._known.add(line)
            self._tell(line)

    def forget(self, kind: str, path: str) -> None:
        """Look after something no longer."""
        line = kind + path
        if line in self._known:
            self._known.remove(line)
            self._tell("-" + line)

    def close(self) -> None:
        """End it without its doing anything."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, b"quit\n")
            self._end()
        self._known.clear()

    def _tell(self, line: str) -> None:
        if self._process is not None:
            try:
                os.write(self._pipe, os.fsencode(line + "\n"))
            except BrokenPipeError:
                self._end()  # somebody ended it: a new one learns everything
            else:
                return
        self._process, self._pipe = _start()
        for known in self._known:
            os.write(self._pipe, os.fsencode(known + "\n"))

    def _end(self) -> None:
        os.close(self._pipe)
        if self._process is not None:
            self._process.wait()
            self._process = None


def _start() -> tuple[subprocess.Popen[bytes], int]:
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            process_group=0,  # out of reach of what ends the session's own group
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process, ours
