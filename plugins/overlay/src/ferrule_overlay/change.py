"""Pending changes of a thread: what its view has that the workspace has not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from ferrule_overlay.checkpoints import has_earlier_files
from ferrule_overlay.tree import Entry, same

if TYPE_CHECKING:
    from ferrule_overlay.shelf import Root, Shelf

ChangeKind = Literal["added", "modified", "deleted", "mode", "replaced"]


class Change(NamedTuple):
    """One path that would become another.

    Attributes:
        root: Which of the covered folders it lies in.
        path: Relative to that folder.
        place: Absolute path.
        before: What the workspace has now.
        after: What the view has.
        conflict: Why it is not simply taken over: what the user did meanwhile; empty without.
    """

    root: int
    path: str
    place: str
    before: Entry | None
    after: Entry | None
    conflict: str = ""

    @property
    def kind(self) -> ChangeKind:
        """What happens to the path."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "deleted"
        if self.before.kind != self.after.kind:
            return "replaced"
        return "mode" if self.before.digest == self.after.digest else "modified"


def pending_changes(shelf: Shelf) -> list[Change]:
    """What the view changed and the workspace has not, sorted by path."""
    return [
        change for number, root in enumerate(shelf.roots) for change in _changes_of(number, root)
    ]


def forget(shelf: Shelf) -> bool:
    """Remove what is kept of a thread that has changed nothing; tells whether that was so."""
    if pending_changes(shelf) or has_earlier_files(shelf):
        return False
    if os.path.isdir(os.path.join(shelf.path, "batches")):
        return False
    shelf.remove()
    return True


def _changes_of(number: int, root: Root) -> list[Change]:
    found: list[Change] = []
    for path, after in sorted(root.layer.touched().items()):
        before = root.real.look(path)
        if same(before, after):
            continue
        place = os.path.join(root.path, path)
        found.append(Change(number, path, place, before, after, _conflict(root, path, before)))
    return found


def _conflict(root: Root, path: str, before: Entry | None) -> str:
    """Say what the user did to a path since the session began."""
    if not root.base.has_drifted(path):
        return ""
    if before is None:
        return "you removed it since the session began"
    known = root.base.get(path)
    if known is None:
        return "you created it since the session began"
    if known.kind != before.kind:
        return f"you made it a {before.kind} since the session began"
    return "you changed it since the session began"
