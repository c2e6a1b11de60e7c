"""What the sub-commands of `ferrule changes` do with a selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.change import Change, pending_changes
from ferrule_overlay.journal import Batch, Transition
from ferrule_overlay.selection import hunked, obstacle
from ferrule_overlay.tree import same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_overlay.batches import Batches
    from ferrule_overlay.selection import Selection
    from ferrule_overlay.shelf import Shelf


class Result(NamedTuple):
    """What became of a command.

    Attributes:
        batch: The number of the batch; 0 where nothing was to be done.
        done: Absolute paths that are now as they were to be.
        left: What is not, and why.
    """

    batch: int
    done: Sequence[str]
    left: Mapping[str, str]


def apply(shelf: Shelf, batches: Batches, selection: Selection, policy: ResolvedPolicy) -> Result:
    """Take pending changes over into the workspace.

    Raises:
        FerruleError: A path or a hunk is named that has no change.
    """
    chosen = selection.chosen(pending_changes(shelf))
    left: dict[str, str] = {}
    wanted: list[Change] = []
    dropped: list[Change] = []
    for change in chosen:
        if selection.is_for_workspace(change):
            dropped.append(change)
        elif reason := obstacle(change, policy, selection):
            left[change.place] = reason
        elif change.conflict and not selection.is_for_thread(change):
            left[change.place] = f"conflict: {change.conflict}; decide by --theirs or --ours"
        else:
            wanted.append(change)
    _drop(shelf, dropped)
    done = [change.place for change in dropped]
    if not wanted:
        return Result(0, done, left)
    ended = batches.apply(_transitions(shelf, wanted, selection))
    return _result(shelf, ended, done, left)


def discard(shelf: Shelf, selection: Selection) -> Result:
    """Have the view show the workspace again, in part or everywhere.

    Raises:
        FerruleError: A path or a hunk is named that has no change.
    """
    changes = pending_changes(shelf)
    chosen = selection.chosen(changes)
    if selection.hunks:
        raise FerruleError("hunks are not discarded one by one: apply the others, then the file")
    if not selection.files:
        for root in shelf.roots:
            root.layer.clear()
            root.base.take()
    else:
        _drop(shelf, chosen)
    return Result(0, [change.place for change in chosen], {})


def rollback(
    shelf: Shelf, batches: Batches, batch: Batch, selection: Selection, policy: ResolvedPolicy
) -> Result:
    """Take back what a batch did; what was changed since is left unless decided otherwise.

    Raises:
        FerruleError: The batch has done nothing.
    """
    done = set(batch.done or ())
    if not done:
        raise FerruleError(f"batch {batch.number} has done nothing that could be taken back")
    left: dict[str, str] = {}
    plan: list[Transition] = []
    for each in batch.transitions:
        if (each.root, each.path) not in done:
            continue
        step = _back(shelf, each)
        change = _as_change(shelf, step)
        if not selection.means(change.place) or selection.is_for_workspace(change):
            continue
        if same(step.before, step.after):
            continue
        if reason := obstacle(change, policy):
            left[change.place] = reason
        elif not same(step.before, each.after) and not selection.is_for_thread(change):
            left[change.place] = (
                "conflict: you changed it since it was applied; decide by --theirs or --ours"
            )
        else:
            plan.append(step)
    if not plan:
        return Result(0, [], left)
    return _result(shelf, batches.rollback(batch, plan), [], left)


def _transitions(shelf: Shelf, wanted: Sequence[Change], selection: Selection) -> list[Transition]:
    if not selection.hunks:
        return [Transition(each.root, each.path, each.before, each.after) for each in wanted]
    files = [each for each in wanted if each.after is not None and each.after.kind == "file"]
    if len(files) != 1:
        raise FerruleError("--hunk needs one --file, whose hunks it chooses among")
    return [
        hunked(shelf, each, selection.hunks)
        if each is files[0]
        else Transition(each.root, each.path, each.before, each.after)
        for each in wanted
    ]


def _drop(shelf: Shelf, changes: Sequence[Change]) -> None:
    for number, root in enumerate(shelf.roots):
        paths = [change.path for change in changes if change.root == number]
        if paths:
            root.layer.drop(paths)
            root.base.refresh(paths)


def _back(shelf: Shelf, each: Transition) -> Transition:
    return each._replace(before=shelf.roots[each.root].real.look(each.path), after=each.before)


def _as_change(shelf: Shelf, each: Transition) -> Change:
    place = f"{shelf.roots[each.root].path}/{each.path}"
    return Change(each.root, each.path, place, each.before, each.after)


def _result(shelf: Shelf, batch: Batch, done: Sequence[str], left: Mapping[str, str]) -> Result:
    places = [f"{shelf.roots[root].path}/{path}" for root, path in batch.done or ()]
    return Result(batch.number, [*done, *places], {**left, **batch.left})
