"""Starts, stops and looks after the daemon. Of several that start it at once, one does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_app_server.daemon.bounded_log import BoundedLog, logging_output
from ferrule_app_server.daemon.probe import answers
from ferrule_app_server.daemon.record import (
    Record,
    own_record,
    read_record,
    remove_record,
    write_record,
)
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_app_server.daemon.folder import RunFolder

_START_S: Final = 60.0
_KILL_S: Final = 5.0
_POLL_S: Final = 0.02


class DaemonError(FerruleError):
    """The daemon cannot be started or stopped."""


class Status(NamedTuple):
    """How it is. Attributes: the daemon, if it runs; whether it answers."""

    record: Record | None
    is_ready: bool


def status(folder: RunFolder) -> Status:
    """Look how the daemon is."""
    record = read_record(folder)
    return Status(record, record is not None and answers(folder.socket))


def start(
    folder: RunFolder, options: tuple[str, ...], environ: Mapping[str, str]
) -> tuple[Record, bool]:
    """Start the daemon and wait until it answers.

    Returns:
        The daemon, and whether it was started now rather than before.

    Raises:
        DaemonError: It did not come up; the message has the end of its log.
    """
    with folder.changing():
        record = read_record(folder)
        if record is not None:
            _wait_ready(folder, lambda: record.is_running)
            return record, False
        return _start(folder, options, environ), True


def _start(folder: RunFolder, options: tuple[str, ...], environ: Mapping[str, str]) -> Record:
    argv = [sys.executable, "-P", "-m", "ferrule", "app-server", *options, "daemon", "run"]
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path.home(),
        env=environ,
        start_new_session=True,
    )
    try:
        _wait_ready(folder, lambda: child.poll() is None)
        record = read_record(folder)
    except BaseException:
        if child.poll() is None:
            child.terminate()
        raise
    if record is None or record.pid != child.pid:
        child.terminate()
        raise _failed(folder, "another server listens on its socket")
    child.returncode = 0  # it stays: nobody here waits for it
    return record


def _wait_ready(folder: RunFolder, is_alive: Callable[[], bool]) -> None:
    until = time.monotonic() + _START_S
    while not answers(folder.socket):
        if not is_alive():
            raise _failed(folder, "it ended at once")
        if time.monotonic() > until:
            raise _failed(folder, f"it was not ready within {_START_S:.0f} s")
        time.sleep(_POLL_S)


def _failed(folder: RunFolder, why: str) -> DaemonError:
    said = BoundedLog(folder.log).tail()
    return DaemonError(
        f"the daemon did not start: {why}; the end of its log {folder.log}:\n{said or '(nothing)'}"
    )


def stop(folder: RunFolder, *, wait_s: float, force: bool) -> bool:
    """Stop the daemon: running turns end, clients are told.

    Args:
        folder: Its files.
        wait_s: How long it may take.
        force: Kill it when the time is up.

    Returns:
        Whether there was one to stop.

    Raises:
        DaemonError: It still runs.
    """
    with folder.changing():
        record = read_record(folder)
        if record is None:
            return False
        record.signal(signal.SIGTERM)
        if record.wait(wait_s):
            return True
        if not force:
            raise DaemonError(
                f"the daemon (process {record.pid}) still ends its work after {wait_s:g} s: "
                "wait longer with --timeout, or end it with --force"
            )
        record.signal(signal.SIGTERM)  # the second has the kernel end its children at once
        if not record.wait(_KILL_S):
            record.signal(signal.SIGKILL)
            record.wait(_KILL_S)
        return True


def be_daemon(folder: RunFolder, options: tuple[str, ...], serve: Callable[[], int]) -> int:
    """Be the daemon: say everything to the log, and leave a record while it runs."""
    folder.prepare()
    with logging_output(BoundedLog(folder.log)):
        record = own_record(options)
        sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} starts\n")
        write_record(folder, record)
        try:
            return serve()
        except FerruleError as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
        except BaseException:
            traceback.print_exc()  # the log is the only place where anybody would see it
            raise
        finally:
            sys.stderr.flush()
            remove_record(folder, record)
