"""Stored threads: whether every rollout can be read to its end, and the index agrees with them.

Nothing is changed here; `repair.py` does that, and only where it is asked for.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule.doctor.index_view import IndexView, view_index
from ferrule.rollout import parse_record, parse_rollout
from ferrule.thread_files import RolloutFile, ThreadFiles
from ferrule_hookspecs.errors import StoreError
from ferrule_hookspecs.hooks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ferrule.doctor.examination import Examination

_REPAIR: Final = "ferrule doctor --repair"
_SHOWN: Final = 5
_IDS: Final = (
    *("threads.rollouts", "threads.ends", "threads.records"),
    *("threads.index", "threads.locks"),
)


class RolloutState(NamedTuple):
    """How one rollout is.

    Attributes:
        file: The rollout.
        fault: Why it cannot be used at all; empty when it can.
        damaged: Numbers of lines before the last that hold no record.
        torn_at: Where its torn last line begins; None where it ends well.
        is_whole: Whether that last line holds a whole record and lacks only its end.
    """

    file: RolloutFile
    fault: str = ""
    damaged: tuple[int, ...] = ()
    torn_at: int | None = None
    is_whole: bool = False


def checks(examination: Examination) -> Iterator[Check]:
    """Look at everything the thread store keeps."""
    store = str(examination.context.config.get("store") or "jsonl")
    if store != "jsonl":
        for check_id in _IDS:
            yield Check(check_id, "skip", f"the plugin {store!r} keeps the threads")
        return
    home = examination.kernel.home
    files = ThreadFiles(home)
    states = [state_of(file) for file in files.scan()]
    yield _rollouts(states, home)
    yield _ends(states, home)
    yield _records(states)
    yield _index(view_index(files), states)
    yield _locks(home / "locks")


def state_of(file: RolloutFile) -> RolloutState:
    """Read one rollout."""
    try:
        with open(file.path, "rb") as stream:
            data = stream.read()
        rollout = parse_rollout(data, file.path)
    except (OSError, StoreError) as error:
        return RolloutState(file, str(error))
    end = data.rfind(b"\n") + 1
    if end == len(data):
        return RolloutState(file, damaged=rollout.damaged)
    last = data.count(b"\n") + 1
    damaged = tuple(number for number in rollout.damaged if number != last)
    is_whole = parse_record(data[end:].rstrip(b"\0")) is not None
    return RolloutState(file, damaged=damaged, torn_at=end, is_whole=is_whole)


def is_open(file: RolloutFile, home: Path) -> bool:
    """Whether a session holds the thread open; the end of its file may be on its way."""
    return _is_held(home / "locks" / f"{file.thread_id}.lock")


def stale_locks(folder: Path) -> list[Path]:
    """List the lock files that nobody holds."""
    return [path for path in sorted(folder.glob("*.lock")) if not _is_held(path)]


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # A shared lock, for a moment: whoever wants the thread in this moment tries again.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _rollouts(states: Sequence[RolloutState], home: Path) -> Check:
    faults = [state.fault for state in states if state.fault]
    if faults:
        text = f"{len(faults)} of {len(states)} threads cannot be read: {_some(faults)}"
        mend = "restore the files from a backup, or remove them; nothing else depends on them"
        return Check("threads.rollouts", "fail", text, mend)
    size = sum(state.file.size for state in states) / 1024 / 1024
    archived = sum(state.file.archived for state in states)
    text = f"{len(states)} threads in {home}, {archived} of them archived, {size:.1f} MiB"
    return Check("threads.rollouts", "ok", text)


def _ends(states: Sequence[RolloutState], home: Path) -> Check:
    torn = [s for s in states if s.torn_at is not None and not is_open(s.file, home)]
    if not torn:
        return Check("threads.ends", "ok", "every thread ends with a whole record")
    text = f"the last line is torn in {_some([state.file.path for state in torn])}"
    return Check("threads.ends", "warn", f"{text}; it is read around", _REPAIR)


def _records(states: Sequence[RolloutState]) -> Check:
    damaged = [state for state in states if state.damaged]
    if not damaged:
        return Check("threads.records", "ok", "every line of every thread is a record")
    lines = [
        f"{s.file.path} line{'s' * (len(s.damaged) > 1)} {', '.join(map(str, s.damaged[:_SHOWN]))}"
        for s in damaged
    ]
    return Check(
        "threads.records",
        "warn",
        f"lines that are no records are read around: {_some(lines)}",
        "nothing has to be done; restore the files from a backup if you miss something",
    )


def _index(view: IndexView, states: Sequence[RolloutState]) -> Check:
    if view.fault:
        text = f"the index cannot be used: {view.fault}; the next listing builds it anew"
        return Check("threads.index", "warn", text, _REPAIR)
    if view.rows is None:
        return Check("threads.index", "ok", "there is no index yet; the first listing builds it")
    on_disk = {s.file.path: (s.file.size, s.file.mtime_ns) for s in states}
    missing = on_disk.keys() - view.rows.keys()
    gone = view.rows.keys() - on_disk.keys()
    behind = [path for path, facts in on_disk.items() if view.rows.get(path, facts) != facts]
    parts = [(missing, "not in the index"), (gone, "in the index without a file")]
    found = [f"{_some(sorted(paths))} {words}" for paths, words in parts if paths]
    if found:
        text = f"{'; '.join(found)}; the next listing brings it up to date"
        return Check("threads.index", "warn", text, _REPAIR)
    text = f"the index knows all {len(on_disk)} threads"
    if behind:
        text += f", {len(behind)} of which have changed since the last listing"
    return Check("threads.index", "ok", text)


def _locks(folder: Path) -> Check:
    stale = stale_locks(folder)
    if not stale:
        return Check("threads.locks", "ok", "no lock of a killed process is left")
    text = f"locks of killed processes are left: {_some([path.name for path in stale])}"
    return Check("threads.locks", "warn", f"{text}; they stop nobody", _REPAIR)


def _some(texts: Sequence[str]) -> str:
    """Name a few things and count the rest."""
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more
