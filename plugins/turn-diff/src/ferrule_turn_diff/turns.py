"""Remembers for each thread how its turn found the workspace."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_turn_diff.workspace import Workspace, root_of

if TYPE_CHECKING:
    from pathlib import Path

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.tools import TurnInfo
    from ferrule_turn_diff.workspace import Snapshot

_THREADS: Final = 2000
_WORKSPACES: Final = 64


class _Beginning(NamedTuple):
    turn_id: str
    root: str
    snapshot: Snapshot | None


# Invariant of this lock: it guards the two tables, and is never held while git runs.
_lock = threading.Lock()
_beginnings: OrderedDict[str, _Beginning] = OrderedDict()
_workspaces: OrderedDict[tuple[str, str], Workspace] = OrderedDict()


def diff_of(turn: TurnInfo, context: PluginContext) -> str | None:
    """Tell what changed since the first call for this turn; None where that cannot be told."""
    root = root_of(turn.cwd)
    workspace = _workspace(context.home, root)
    snapshot = workspace.snapshot()
    with _lock:
        began = _beginnings.get(turn.thread_id)
        if began is None or (began.turn_id, began.root) != (turn.turn_id, root):
            began = _Beginning(turn.turn_id, root, snapshot)
            _beginnings[turn.thread_id] = began
            _beginnings.move_to_end(turn.thread_id)
            while len(_beginnings) > _THREADS:
                _beginnings.popitem(last=False)
    if began.snapshot is None or snapshot is None:
        return None
    return workspace.diff(began.snapshot, snapshot)


def _workspace(home: Path, root: str) -> Workspace:
    with _lock:
        key = (str(home), root)
        found = _workspaces.get(key)
        if found is None:
            found = _workspaces[key] = Workspace(home, root)
            while len(_workspaces) > _WORKSPACES:
                _workspaces.popitem(last=False)
        _workspaces.move_to_end(key)
        return found
