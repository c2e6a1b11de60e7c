"""`ferrule app-server` as a process of its own, and what the system says of it."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ferrule_testkit.home import FerruleHome

_START_S: Final = 120.0
_LISTENS: Final = re.compile(r"listening on: (\S+)")


class Footprint(NamedTuple):
    """What a process holds.

    Attributes:
        descriptors: What its open descriptors refer to.
        children: The command lines of its children that live, by process id.
        threads: How many threads it has.
        resident_kib: Its memory.
    """

    descriptors: Sequence[str]
    children: Mapping[int, str]
    threads: int
    resident_kib: int


class AppServerProcess:
    """A server, for use in a `with` statement; it is killed at the end unless it ended before.

    Attributes:
        process: The process; its standard input and output are pipes.
        urls: Where it listens, as it says itself, by scheme.
    """

    def __init__(
        self,
        home: FerruleHome,
        *listen: str,
        options: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; `listen` are its URLs."""
        words = [word for url in listen for word in ("--listen", url)]
        self.process = subprocess.Popen(
            home.command(["app-server", *words, *options]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home.workspace,
            env={**home.environ, **(environ or {})},
        )
        self.urls: dict[str, str] = {}
        self._expected = {url.partition(":")[0] for url in listen} - {"stdio"}
        self._lines: list[str] = []
        self._is_up = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> AppServerProcess:
        self._reader.start()
        if self._expected and not self._is_up.wait(_START_S):
            self.__exit__()
            raise AssertionError(f"the server does not listen: {self.stderr}")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue

    @property
    def stderr(self) -> str:
        """What it has written to standard error so far."""
        return "".join(self._lines)

    def footprint(self) -> Footprint:
        """Look what the process holds."""
        folder = Path(f"/proc/{self.process.pid}")
        status = (folder / "status").read_text()
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        children = (folder / f"task/{self.process.pid}/children").read_text()
        return Footprint(
            sorted(_target(each) for each in (folder / "fd").iterdir()),
            {int(pid): line for pid in children.split() if (line := _command_line(pid))},
            int(facts["Threads"]),
            int(facts["VmRSS"].split()[0]),
        )

    def _read(self) -> None:
        assert self.process.stderr is not None
        for raw in self.process.stderr:
            line = raw.decode(errors="replace")
            self._lines.append(line)
            found = _LISTENS.search(line)
            if found:
                self.urls[found[1].partition(":")[0]] = found[1]
            if self._expected <= self.urls.keys():
                self._is_up.set()
        self._is_up.set()


def _target(descriptor: Path) -> str:
    try:
        return os.readlink(descriptor)
    except OSError:
        return ""


def _command_line(pid: str) -> str:
    """Return the words of a process; what has ended and waits to be reaped has none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
