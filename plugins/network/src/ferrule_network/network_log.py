"""The log of everything that commands did through the proxy, one JSON object per line.

It lies in the home, out of reach of commands, and is written before a connection is made: what
cannot be recorded is not done. When it has grown, it is kept under a number and a new one begun.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_network.audit import AuditEvent

_LARGEST: Final = 8 * 1024 * 1024
_KEPT: Final = 4


class Subject(NamedTuple):
    """Whose connections are logged."""

    thread_id: str
    turn_id: str
    call_id: str
    words: tuple[str, ...]


class NetworkLog:
    """The log of one home; several processes may write it."""

    def __init__(self, home: Path, largest: int = _LARGEST) -> None:
        """Keep the place; nothing is created before something happens."""
        self.path = home / "log" / "network.jsonl"
        self._largest = largest

    def write(self, subject: Subject, event: AuditEvent) -> None:
        """Append one record; raises `OSError`."""
        line = json.dumps(_record(subject, event), ensure_ascii=False, separators=(",", ":"))
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.path, flags, 0o600)
        try:
            os.write(descriptor, line.encode() + b"\n")
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > self._largest:
            self._turn_over()

    def read(self) -> Iterator[Mapping[str, object]]:
        """Read all records that are kept, oldest first; what is no record is passed over."""
        for path in (*reversed(self._old()), self.path):
            with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
                for line in file:
                    with contextlib.suppress(ValueError):
                        yield json.loads(line)

    def _old(self) -> list[Path]:
        return [self.path.with_name(f"network.{number}.jsonl") for number in range(1, _KEPT)]

    def _turn_over(self) -> None:
        """Put the log away; of processes that want to at the same time, one does."""
        with _alone(self.path.with_name("network.lock")) as is_alone:
            if is_alone and self.path.stat().st_size > self._largest:
                places = [self.path, *self._old()]
                for newer, older in reversed(list(pairwise(places))):
                    with contextlib.suppress(FileNotFoundError):
                        newer.replace(older)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Keep other processes away as long as the block runs; False where one is there already."""
    try:
        import fcntl
    except ImportError:  # a file that is open elsewhere cannot be renamed there anyway
        yield True
        return
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _record(subject: Subject, event: AuditEvent) -> dict[str, object]:
    record: dict[str, object] = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "kind": event.kind,
        "thread": subject.thread_id,
        "turn": subject.turn_id,
        "call": subject.call_id,
        "command": list(subject.words),
        "decision": event.decision,
        "rule": event.rule,
        "reason": event.reason,
        "address": event.address,
        "sent": event.sent,
        "received": event.received,
    }
    if event.target is not None:
        target = event.target
        record |= {
            "host": target.host.text,
            "port": target.port,
            "protocol": target.protocol,
            "method": target.method,
            "path": target.path,
        }
    return {name: value for name, value in record.items() if value not in ("", 0)}
