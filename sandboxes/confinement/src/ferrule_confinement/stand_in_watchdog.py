"""Ends what is left of a session's sandboxes and takes its stand-ins away when it was killed.

One small shell per session, no interpreter. It reads what to look after from a pipe; the end of the
pipe means that the session is gone, for whatever reason. A session that ends in good order says so.

A sandbox that was being set up when the session was killed may have missed the signal that ends it:
it would make again what it mounts on, or run its command, or wait for ever. So every sandbox holds
one end of a second pipe, the leash: whoever has it open then is killed before anything is removed.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Final

_REAPER: Final = os.path.join(os.path.dirname(__file__), "leash_reaper.py")
_SYSTEM_PYTHON: Final = "/usr/bin/python3"

# The lock is not given while another session needs the stand-in, which takes it away itself. What
# is locked must be what is removed: the one that was opened may have gone meanwhile, and another's
# stand in its place. One that was begun and bears no stamp yet is told by its sticky bit.
_SCRIPT: Final = r"""
python=$1 reaper=$2 leash=$3
shift 3
is_ours() { [ "$(stat -c %Y -- "$1")" = 1000000000 ] || is_begun "$1"; }
is_begun() {
    [ ! -h "$1" ] && [ -k "$1" ] && [ -O "$1" ] &&
        { [ -d "$1" ] || [ ! -s "$1" ] || [ "$(cat -- "$1")" = "${1%/*}" ]; }
}
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
"$python" -I -S "$reaper" "$leash"
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
        self._leash: tuple[int, int] | None = None
        self._known: set[str] = set()
        self._lock = threading.Lock()  # commands may be prepared at the same time

    def leash(self) -> int:
        """Return the descriptor that whatever must not outlive the session has to hold.

        A process that has it open when the session was killed is killed, too: a command must not
        come by it that may be left running.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start_anew()
            return self._ends()[1]

    def watch(self, kind: str, path: str) -> None:
        """Look after a folder (`d`), a file (`f`) or a link (`l`, target after two slashes).

        A folder or file may be announced before it is there: only what bears the marks of a
        stand-in is ever removed.
        """
        line = kind + path
        with self._lock:
            if line not in self._known and "\n" not in line:
                self._known.add(line)
                self._tell(line)

    def forget(self, kind: str, path: str) -> None:
        """Look after something no longer."""
        line = kind + path
        with self._lock:
            if line in self._known:
                self._known.remove(line)
                self._tell("-" + line)

    def close(self) -> None:
        """End it without its doing anything."""
        with self._lock:
            if self._process is not None:
                with suppress(BrokenPipeError):
                    os.write(self._pipe, b"quit\n")
                self._end()
            if self._leash is not None:
                for descriptor in self._leash:
                    os.close(descriptor)
                self._leash = None
            self._known.clear()

    def _tell(self, line: str) -> None:
        if self._process is not None:
            with suppress(BrokenPipeError):  # somebody ended it: a new one learns everything
                os.write(self._pipe, os.fsencode(line + "\n"))
                return
        self._start_anew()

    def _start_anew(self) -> None:
        self._end()
        self._process, self._pipe = _start(*self._ends())
        for known in self._known:
            os.write(self._pipe, os.fsencode(known + "\n"))

    def _ends(self) -> tuple[int, int]:
        """Both ends of the leash, which a new shell takes over: sandboxes hold it already."""
        if self._leash is None:
            self._leash = os.pipe()
        return self._leash

    def _end(self) -> None:
        if self._process is not None:
            os.close(self._pipe)
            self._process.wait()
            self._process = None


def _start(watched: int, leash: int) -> tuple[subprocess.Popen[bytes], int]:
    theirs, ours = os.pipe()
    try:
        # A process that the session forks closes them in this order when it becomes another
        # program: once the pipe has ended, nothing but sandboxes holds the leash.
        pipe = fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, leash + 1)
    finally:
        os.close(ours)
    python = sys.executable if os.access(sys.executable, os.X_OK) else _SYSTEM_PYTHON
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "sh", python, _REAPER, str(watched)],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(watched,),
            env={"PATH": "/usr/bin:/bin"},
            cwd="/",
            process_group=0,  # out of reach of what ends the session's own group
        )
    except BaseException:
        os.close(pipe)
        raise
    finally:
        os.close(theirs)
    return process, pipe
