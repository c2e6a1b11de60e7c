"""`ferrule doctor --repair`: torn ends of rollouts, locks of killed processes, and the index.

An intact record is never lost, and what is cut off is kept beside the home's other files first.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule.doctor.threads import stale_locks, state_of
from ferrule.rollout import RolloutWriter
from ferrule.store import JsonlStore
from ferrule.thread_files import ThreadFiles, make_private_dirs
from ferrule.thread_lock import ThreadLock
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from ferrule.doctor.examination import Examination
    from ferrule.doctor.threads import RolloutState
    from ferrule.thread_files import RolloutFile


def repair(examination: Examination) -> list[str]:
    """Repair what the checks of threads complain of; returns what was done, in sentences."""
    if str(examination.context.config.get("store") or "jsonl") != "jsonl":
        return ["nothing was repaired: another plugin keeps the threads"]
    home = examination.kernel.home
    if not home.is_dir():
        return []
    states = map(state_of, ThreadFiles(home).scan())
    done = [_mend(state.file, home) for state in states if state.torn_at is not None]
    if stale := stale_locks(home / "locks"):
        done.append(f"removed {len(stale)} locks of killed processes")
    if (home / "sessions").is_dir() or (home / "archived_sessions").is_dir():
        number = JsonlStore(examination.context).rebuild()
        done.append(f"built the index anew from {number} threads")
    return done


def _mend(file: RolloutFile, home: Path) -> str:
    """Mend the end of one rollout while no session can write it."""
    try:
        lock = ThreadLock.acquire(home / "locks", file.thread_id)
    except FerruleError as error:
        return f"left {file.path} alone: {error}"
    try:
        state = state_of(file)
        if state.torn_at is None:
            lock.release()
            return f"{file.path} was mended meanwhile"
        kept = "" if state.is_whole else _keep(state, state.torn_at, home)
        RolloutWriter.resume(file.thread_id, Path(file.path), lock).close()
    except (FerruleError, OSError) as error:
        lock.release()
        return f"left {file.path} alone: {error}"
    if state.is_whole:
        return f"ended the last line of {file.path}, whose record is whole"
    return f"cut the torn last line off {file.path}; what was cut is in {kept}"


def _keep(state: RolloutState, start: int, home: Path) -> str:
    """Copy what will be cut off; on return it survives a power failure."""
    folder = home / "repaired"
    make_private_dirs(folder)
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    target = folder / f"{Path(state.file.path).name}.{stamp}.{start}.cut"
    with open(state.file.path, "rb") as stream:
        stream.seek(start)
        rest = stream.read()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(rest)
        copy.flush()
        os.fsync(descriptor)
    return str(target)
