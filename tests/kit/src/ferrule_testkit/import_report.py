"""What importing a module does and costs, found out in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

_CHILD: Final = """
import json, os, sys, threading, time
module, noted = sys.argv[1], []
STARTS = ("socket.connect", "socket.bind", "subprocess.Popen", "os.fork", "os.system", "os.exec",
          "os.posix_spawn", "os.remove", "os.mkdir", "os.rename")
def hear(event, arguments):
    if event in STARTS:
        noted.append(event)
    elif event == "open" and isinstance(arguments[2], int) and arguments[2] & (
        os.O_WRONLY | os.O_RDWR
    ) and not str(arguments[0]).endswith(".pyc") and ".pyc." not in str(arguments[0]):
        noted.append(f"open for writing: {arguments[0]}")
sys.path[:] = json.loads(sys.argv[2])
sys.addaudithook(hear)
began = time.perf_counter()
__import__(module)
spent = (time.perf_counter() - began) * 1000
threads = [thread.name for thread in threading.enumerate()][1:]
report = json.dumps([spent, noted, threads, sorted(sys.modules)])
sys.stdout.flush()
with open(sys.argv[3], "w") as file:
    file.write(report)
os._exit(0)
"""
_MARK: Final = "import time:"


class ImportReport(NamedTuple):
    """What an import did.

    Attributes:
        milliseconds: How long it took, without what the interpreter needs anyway.
        started: What it did beside defining things: sockets, processes, files written.
        threads: Threads it left running.
        printed: What it wrote to standard output or standard error.
        modules: What is imported now.
        culprits: The slowest modules, with milliseconds of their own.
        fault: Why there is no report; empty where there is one.
    """

    milliseconds: float = 0.0
    started: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    printed: str = ""
    modules: frozenset[str] = frozenset()
    culprits: tuple[str, ...] = ()
    fault: str = ""


def report_import(module: str) -> ImportReport:
    """Import a module in a child process and tell what that did."""
    path = json.dumps([place for place in sys.path if place])
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "report.json")
        ended = subprocess.run(
            [sys.executable, "-B", "-X", "importtime", "-c", _CHILD, module, path, str(answer)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        text = answer.read_text("utf-8") if answer.exists() else ""
    lines = ended.stderr.splitlines()
    said = "\n".join(line for line in lines if not line.startswith(_MARK))
    if not text:
        return ImportReport(fault=f"exit code {ended.returncode}: {said[-500:]}")
    spent, started, threads, modules = json.loads(text)
    return ImportReport(
        milliseconds=spent,
        started=tuple(started),
        threads=tuple(threads),
        printed=ended.stdout + said,
        modules=frozenset(modules),
        culprits=_slowest([line for line in lines if line.startswith(_MARK)]),
    )


def _slowest(timed: list[str]) -> tuple[str, ...]:
    rows = [line.removeprefix(_MARK).split("|") for line in timed]
    costs = [(int(row[0]) / 1000, row[2].strip()) for row in rows if row[0].strip().isdigit()]
    return tuple(f"{name} {spent:.1f} ms" for spent, name in sorted(costs, reverse=True)[:5])
