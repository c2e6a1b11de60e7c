"""Takes changes over into the workspace, takes that back, and finishes what was cut off.

The order that makes `kill -9` harmless: contents, old and new, are kept first; then the plan is
written; then the workspace is changed; then the view is told; then the end is written. A plan
without an end is carried out again before anything else happens.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.carrying_out import CarryingOut
from ferrule_overlay.journal import Batch, Journal, Transition
from ferrule_overlay.private_file import sync_folder
from ferrule_overlay.tree import Entry, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ferrule_overlay.journal import BatchKind
    from ferrule_overlay.shelf import Shelf
    from ferrule_overlay.tree import Tree


def _nowhere(step: str) -> None:
    """Tell nobody."""


class Batches:
    """The batches of one thread; the caller holds the shelf's lock."""

    def __init__(self, shelf: Shelf, reached: Callable[[str], None] = _nowhere) -> None:
        """Take the shelf; `reached` is called after every step that is on the disk."""
        self._shelf = shelf
        self._reached = reached
        self.journal = Journal(os.path.join(shelf.path, "batches"))

    def recover(self) -> list[Batch]:
        """Carry out what was begun and has not ended; returns it."""
        return [self._carry_out(batch) for batch in self.journal.batches() if batch.done is None]

    def apply(self, transitions: Sequence[Transition]) -> Batch:
        """Take changes over into the workspace.

        Args:
            transitions: From what the workspace has to what it shall have. Contents are found in
                the workspace, in the view, or in the store already.
        """
        for each in transitions:
            for entry in (each.before, each.after):
                self._keep(each, entry)
        return self._begin("apply", transitions)

    def rollback(self, batch: Batch, chosen: Sequence[Transition]) -> Batch:
        """Take back what a batch did; only `chosen`, which go from the state of now."""
        for each in chosen:
            self._keep(each, each.before)
        return self._begin("rollback", chosen, of=batch.number)

    def last_applied(self) -> Batch:
        """The last batch that can be taken back.

        Raises:
            FerruleError: There is none.
        """
        batches = self.journal.batches()
        gone = {batch.of for batch in batches if batch.kind == "rollback"}
        for batch in reversed(batches):
            if batch.kind == "apply" and batch.number not in gone and batch.done:
                return batch
        raise FerruleError("nothing was applied from this thread that could be taken back")

    def find(self, number: int) -> Batch:
        """A batch by its number.

        Raises:
            FerruleError: There is none.
        """
        for batch in self.journal.batches():
            if batch.number == number:
                return batch
        raise FerruleError(f"there is no batch {number}; 'ferrule changes log' lists them")

    def _begin(self, kind: BatchKind, transitions: Sequence[Transition], of: int = 0) -> Batch:
        number = self.journal.next_number()
        batch = Batch(number, kind, transitions, of, time.time())
        self.journal.begin(batch)
        self._reached("planned")
        return self._carry_out(batch)

    def _carry_out(self, batch: Batch) -> Batch:
        roots = self._shelf.roots
        run = CarryingOut(batch, [root.real for root in roots], self._shelf.objects, self._reached)
        run.run()
        done = [
            (each.root, each.path)
            for each in batch.transitions
            if os.path.join(roots[each.root].path, each.path) not in run.left
        ]
        for number, root in enumerate(roots):
            _sync(root.real, {path.rpartition("/")[0] for where, path in done if where == number})
        self._reached("carried out")
        for number, root in enumerate(roots):
            paths = [path for where, path in done if where == number]
            if paths:
                self.settle(number, paths)
                root.base.refresh(paths)
                self._reached("settled")
        ended = batch._replace(done=done, left=run.left)
        self.journal.end(ended)
        self._reached("ended")
        return ended

    def settle(self, number: int, paths: Sequence[str]) -> None:
        """Have the view let go of what the workspace now has as well."""
        root = self._shelf.roots[number]
        touched = root.layer.touched()
        root.layer.drop(
            path
            for path in paths
            if path not in touched or same(touched[path], root.real.look(path))
        )

    def _keep(self, each: Transition, entry: Entry | None) -> None:
        """Keep a content, from wherever it is."""
        if entry is None or entry.kind != "file":
            return
        objects, root = self._shelf.objects, self._shelf.roots[each.root]
        if os.path.exists(objects.place(entry.digest)):
            return
        tree = root.real if entry is each.before else root.layer.tree
        objects.take(tree, each.path, entry.digest)
        self._reached(f"kept {each.path}")


def _sync(tree: Tree, folders: Iterable[str]) -> None:
    """Have the names in folders on the disk, as far as the folders are still there."""
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            sync_folder(os.path.join(tree.path, folder) if folder else tree.path)
