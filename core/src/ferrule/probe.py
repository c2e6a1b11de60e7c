"""Imports plugins in a child process, so that what raises, hangs, exits or crashes does so there.

One child takes all entries; when it dies or hangs, the entry it was at is tried alone, and the
rest go on in a new child. Called by the index.
"""

from __future__ import annotations

import json
import signal
import threading
from contextlib import suppress
from queue import Empty, Queue
from typing import IO, TYPE_CHECKING, Final, cast

from ferrule.entry import Entry, Probe
from ferrule.patience import steps
from ferrule.plugin_python import end_session, search_path, start_python

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

LIMIT_S: Final = 15.0
"""How long one import may take; the slowest of ours takes a tenth of it on a busy machine."""


def probe_entries(entries: Sequence[Entry], *, limit_s: float = LIMIT_S) -> list[Probe]:
    """Import entries in child processes and tell how each fared, in the same order."""
    results: dict[int, Probe] = {}
    waiting = list(range(len(entries)))
    while waiting:
        done, culprit, cause = _run_child([entries[i] for i in waiting], limit_s)
        results.update({waiting[i]: probe for i, probe in done.items()})
        if culprit is not None and len(waiting) > 1:
            guilty = waiting[culprit]
            alone, _, cause_alone = _run_child([entries[guilty]], limit_s)
            results[guilty] = alone.get(0) or Probe(ok=False, fault=cause_alone)
        elif culprit is not None:
            results[waiting[culprit]] = Probe(ok=False, fault=cause)
        waiting = [i for i in waiting if i not in results]
    return [results[i] for i in range(len(entries))]


def _run_child(
    entries: Sequence[Entry], limit_s: float
) -> tuple[dict[int, Probe], int | None, str]:
    """Run one child; returns results by position, the entry that ended it, and how."""
    process = start_python(_BOOT)
    request = {
        "boot": search_path(),
        "entries": [[e.group, e.name, e.target, list(e.roots), e.import_path] for e in entries],
    }
    lines = _Lines(process, (json.dumps(request) + "\n").encode())
    done: dict[int, Probe] = {}
    try:
        while len(done) < len(entries):
            line = lines.next(limit_s)
            if line is None:
                return done, len(done), _cause(process, limit_s, is_over=lines.is_over)
            try:
                done[len(done)] = _probe(cast("list[object]", json.loads(line)))
            except (ValueError, TypeError):
                return done, len(done), "its import wrote among the answers of the probe"
    finally:
        end_session(process)
    return done, None, ""


_BOOT: Final = """
import json, os, sys
line = sys.stdin.readline()
request = json.loads(line)
sys.path[:] = request["boot"]
from ferrule.probe_child import main
main(request["entries"])
"""


class _Lines:
    """Reads the child's answers, each with a deadline of its own."""

    def __init__(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the child must be started with pipes")
        self._queue: Queue[bytes] = Queue()
        # A thread, as pipes cannot be polled on Windows; it ends with the child.
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()
        self.is_over = False
        with suppress(OSError):  # a child that is gone already shows as the end of its output
            process.stdin.write(request)
            process.stdin.flush()  # left open: its end tells the child that its parent is gone

    def next(self, limit_s: float) -> bytes | None:
        """Return the next line; None when the child ended or the deadline passed."""
        for step_s in steps(limit_s):
            try:
                line = self._queue.get(timeout=step_s)
            except Empty:
                continue
            self.is_over = not line
            return line or None
        return None

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._queue.put(line)
            self._queue.put(b"")


def _probe(values: list[object]) -> Probe:
    fields = [tuple(cast("list[str]", v)) if isinstance(v, list) else v for v in values]
    return Probe(*cast("list[bool]", fields))  # pyright: ignore[reportArgumentType] -- written by `probe_child`


def _cause(process: subprocess.Popen[bytes], limit_s: float, *, is_over: bool) -> str:
    if not is_over:
        return f"its import did not end within {limit_s:g} s (once more: ferrule plugins refresh)"
    code = process.wait()
    if code < 0:
        return f"its import crashed the interpreter ({signal.Signals(-code).name})"
    return f"its import ended the interpreter (exit code {code})"
