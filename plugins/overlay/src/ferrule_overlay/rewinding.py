"""Takes the files of a view back to where a turn began, and forward again.

Everything is done through the mounted view, so that it works while a session is open. The order
that makes `kill -9` harmless is that of the batches: the state of now is kept as a checkpoint, then
the plan is written, then the view is changed, then the end is written. A plan without an end is
carried out again before anything else happens.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.carrying_out import CarryingOut
from ferrule_overlay.checkpoints import MOST_KEPT, Checkpoints
from ferrule_overlay.journal import Batch, Journal, Transition
from ferrule_overlay.mounts import Mounts
from ferrule_overlay.private_file import write_private
from ferrule_overlay.tree import Tree, same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ferrule_overlay.checkpoints import Checkpoint
    from ferrule_overlay.shelf import Root, Shelf
    from ferrule_overlay.tree import Entry


class Rewound(NamedTuple):
    """What became of taking files back.

    Attributes:
        done: Absolute paths that are now as they were.
        left: What is not, and why.
    """

    done: Sequence[str]
    left: Mapping[str, str]


def _nowhere(step: str) -> None:
    """Tell nobody."""


class Rewinds:
    """Those of one thread; the caller holds the shelf's lock."""

    def __init__(self, shelf: Shelf, reached: Callable[[str], None] = _nowhere) -> None:
        """Take the shelf; `reached` is called after every step that is on the disk."""
        self._shelf = shelf
        self._reached = reached
        self._path = os.path.join(shelf.path, "rewinds")
        self._journal = Journal(self._path)
        self._checkpoints = Checkpoints(shelf)

    def begin_turn(self, turn_id: str, trees: Sequence[Tree]) -> None:
        """Keep what the view has now, before a turn.

        Raises:
            FerruleError: It is too much.
        """
        self._recover(trees)
        line = self._line()[-MOST_KEPT:]
        self._checkpoints.take(turn_id, line, self._last_batch())
        self._checkpoints.prune()

    def before_turns(self, turn_ids: Sequence[str], trees: Sequence[Tree]) -> Rewound:
        """Take the files back to where the first of some turns began.

        Raises:
            FerruleError: What a turn began with is not known, or was applied since.
        """
        numbers = self._checkpoints.numbers()
        known = {each.turn_id: each for each in map(self._checkpoints.read, numbers)}
        if unknown := [turn_id for turn_id in turn_ids if turn_id not in known]:
            raise FerruleError(
                f"nothing is kept of the files before turn {unknown[0]}: it ran without --overlay,"
                " had too many changes before it, or is too long ago"
            )
        return self._go_to(known[turn_ids[0]], trees)

    def back(self, count: int, trees: Sequence[Tree]) -> Rewound:
        """Take the files back by some turns.

        Raises:
            FerruleError: There are not so many, or something was applied since.
        """
        line = self._line()
        if not 0 < count <= len(line):
            raise FerruleError(
                f"the files of thread {self._shelf.thread_id} cannot go back by {count} turns: give"
                f" --turns a number from 1 to {len(line)}"
                if line
                else f"no turn of thread {self._shelf.thread_id} is kept that its files could go"
                " back to"
            )
        return self._go_to(self._checkpoints.read(line[-count]), trees)

    def undo(self, trees: Sequence[Tree]) -> Rewound:
        """Have the files as they were before they were last taken back.

        Raises:
            FerruleError: They never were, or something was applied since.
        """
        rewinds = self._journal.batches()
        if not rewinds:
            raise FerruleError(
                f"the files of thread {self._shelf.thread_id} were never taken back, so that there"
                " is nothing to undo"
            )
        return self._go_to(self._checkpoints.read(rewinds[-1].number), trees)

    def settle(self) -> None:
        """Complete what was cut off, and have the view follow the workspace again.

        The view must not be mounted. What a rewind made equal to the workspace was written into the
        view all the same, as nothing can be taken out of it while it is mounted.
        """
        if self._unfinished():
            with Mounts(self._shelf) as mounts:
                self._recover(mounts.trees)
        self.release()

    def release(self) -> None:
        """Take out of the view what a rewind had put there for the workspace's."""
        for batch in self._journal.batches():
            try:
                with open(self._shown_file(batch.number), encoding="utf-8") as file:
                    shown: list[tuple[int, str]] = [(root, path) for root, path in json.load(file)]
            except FileNotFoundError:
                continue
            after = {(each.root, each.path): each.after for each in batch.transitions}
            for number, root in enumerate(self._shelf.roots):
                touched = root.layer.touched()
                paths = [
                    path
                    for where, path in shown
                    if where == number
                    and path in touched
                    and same(touched[path], after[where, path])
                ]
                if paths:
                    root.layer.drop(paths)
                    root.base.refresh(paths)
            os.unlink(self._shown_file(batch.number))

    def _unfinished(self) -> list[Batch]:
        return [each for each in self._journal.batches() if each.done is None]

    def _recover(self, trees: Sequence[Tree]) -> None:
        for batch in self._unfinished():
            self._carry_out(batch, trees)

    def _go_to(self, goal: Checkpoint, trees: Sequence[Tree]) -> Rewound:
        self._recover(trees)
        self._check(goal)
        now = self._checkpoints.take("", self._line(), self._last_batch())
        self._reached("kept")
        plan, shown = self._plan(now, goal, trees)
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        write_private(self._shown_file(now.number), json.dumps(shown))
        batch = Batch(now.number, "rewind", plan, goal.number, time.time())
        self._journal.begin(batch)
        self._reached("planned")
        return self._carry_out(batch, trees)

    def _plan(
        self, now: Checkpoint, goal: Checkpoint, trees: Sequence[Tree]
    ) -> tuple[list[Transition], list[tuple[int, str]]]:
        """What is to be changed, and what of it is to be as in the workspace."""
        plan: list[Transition] = []
        shown: list[tuple[int, str]] = []
        for number, root in enumerate(self._shelf.roots):
            kept = goal.entries[number]
            for path in sorted({*now.entries[number], *kept}):
                after = kept[path] if path in kept else self._workspace_entry(root, path)
                before = trees[number].look(path)
                if same(before, after):
                    continue
                plan.append(Transition(number, path, before, after))
                if path not in kept:
                    shown.append((number, path))
        return plan, shown

    def _carry_out(self, batch: Batch, trees: Sequence[Tree]) -> Rewound:
        run = CarryingOut(batch, trees, self._checkpoints.objects, self._reached)
        run.run()
        done: list[tuple[int, str]] = []
        left: dict[str, str] = {}
        for each in batch.transitions:
            reason = run.left.get(os.path.join(trees[each.root].path, each.path))
            if reason is None:
                done.append((each.root, each.path))
            else:
                left[self._place(each.root, each.path)] = reason
        self._journal.end(batch._replace(done=done, left=left))
        self._reached("ended")
        return Rewound([self._place(*each) for each in done], left)

    def _line(self) -> list[int]:
        """The turns' checkpoints that led to the state of now, oldest first."""
        goals = {batch.number: batch.of for batch in self._journal.batches()}
        for number in reversed(self._checkpoints.numbers()):
            checkpoint = self._checkpoints.read(number)
            if checkpoint.turn_id:
                return [*checkpoint.line, number]
            if number in goals:
                return list(self._checkpoints.read(goals[number]).line)
        return []

    def _check(self, goal: Checkpoint) -> None:
        roots = [root.path for root in self._shelf.roots]
        if list(goal.roots) != roots:
            raise FerruleError(
                f"the overlay covered {', '.join(goal.roots)} then, and covers {', '.join(roots)}"
                " now; give the same --add-dir and writable_roots as then"
            )
        standing = _standing(Journal(os.path.join(self._shelf.path, "batches")), goal.batch)
        if standing is not None:
            how = f"ferrule changes rollback --batch {standing} {self._shelf.thread_id}"
            raise FerruleError(
                f"batch {standing} changed the workspace after that turn had begun; take it back"
                f" first, when no session of the thread is open, with: {how}"
            )

    def _last_batch(self) -> int:
        return Journal(os.path.join(self._shelf.path, "batches")).next_number() - 1

    def _workspace_entry(self, root: Root, path: str) -> Entry | None:
        """What the view shows where it has changed nothing; a content is kept."""
        for tree in (root.real, Tree(os.path.join(root.folder, "below"))):
            entry = tree.look(path)
            if entry is not None:
                if entry.kind == "file":
                    self._checkpoints.objects.take(tree, path, entry.digest)
                return entry
        return None

    def _place(self, root: int, path: str) -> str:
        return os.path.join(self._shelf.roots[root].path, path)

    def _shown_file(self, number: int) -> str:
        return os.path.join(self._path, f"{number:06}.shown")


def _standing(journal: Journal, known: int) -> int | None:
    """The last batch after `known` that the workspace still shows; None without."""
    standing: dict[int, set[tuple[int, str]]] = {}
    for batch in reversed(journal.batches()):
        done = set(batch.done or ())
        for other in journal.batches():
            if other.number in standing and other.of == batch.number:
                done -= standing[other.number]
        standing[batch.number] = done
    for batch in reversed(journal.batches()):
        if batch.number > known >= batch.of and standing[batch.number]:
            return batch.number
    return None
