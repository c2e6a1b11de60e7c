"""What the view had when a turn began, or before files were taken back.

A checkpoint names every path that the view had touched with what it had there; contents lie in a
store of their own, which is not synced to the disk for every turn as that of the batches is. A
path that is not named showed the workspace.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ferrule_hookspecs.errors import FerruleError
from ferrule_overlay.journal import entry_of
from ferrule_overlay.objects import ObjectStore
from ferrule_overlay.private_file import write_private

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_overlay.shelf import Shelf
    from ferrule_overlay.tree import Entry

MOST_BYTES: Final = 256 * 1024**2
MOST_PATHS: Final = 10_000
MOST_KEPT: Final = 60
MOST_STORED: Final = 1024**3
_KEPT_OF_MOST: Final = 40
_MIB: Final = 1024**2


class Checkpoint(NamedTuple):
    """The state of a view.

    Attributes:
        number: From 1, in the order they were made.
        turn_id: The turn that began then; empty where files were about to be taken back.
        line: The turns' checkpoints that led here, oldest first.
        batch: The last batch that had been begun.
        roots: The folders that were covered.
        entries: For each folder, what the view had at the paths it had touched.
        made_at: In seconds since 1970.
    """

    number: int
    turn_id: str
    line: Sequence[int]
    batch: int
    roots: Sequence[str]
    entries: Sequence[Mapping[str, Entry | None]]
    made_at: float = 0.0


class Checkpoints:
    """Those of one thread; the caller holds the shelf's lock."""

    def __init__(self, shelf: Shelf) -> None:
        """Take the shelf; nothing is made yet."""
        self._shelf = shelf
        self._path = os.path.join(shelf.path, "checkpoints")
        self.objects = ObjectStore(os.path.join(self._path, "objects"), is_synced=False)

    def numbers(self) -> list[int]:
        """Those that there are, oldest first."""
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        return sorted(int(name[:-5]) for name in names if name.endswith(".json"))

    def read(self, number: int) -> Checkpoint:
        """One of them.

        Raises:
            FerruleError: It is no longer kept.
        """
        try:
            with open(self._file(number), encoding="utf-8") as file:
                values: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            raise FerruleError(
                f"the files of that turn are no longer kept: only those of the last {MOST_KEPT}"
                " turns at most are"
            ) from None
        entries = [
            {path: entry_of(row) for path, row in rows.items()} for rows in values.pop("entries")
        ]
        return Checkpoint(entries=entries, **values)

    def take(self, turn_id: str, line: Sequence[int], batch: int) -> Checkpoint:
        """Write down what the view has.

        Raises:
            FerruleError: That is too much.
        """
        self._check_size()
        entries = [dict(root.layer.touched()) for root in self._shelf.roots]
        for root, rows in zip(self._shelf.roots, entries, strict=True):
            for path, entry in rows.items():
                if entry is not None and entry.kind == "file":
                    self.objects.take(root.layer.tree, path, entry.digest)
        number = max(self.numbers(), default=0) + 1
        roots = [root.path for root in self._shelf.roots]
        checkpoint = Checkpoint(number, turn_id, list(line), batch, roots, entries, time.time())
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        write_private(self._file(number), json.dumps(checkpoint._asdict()))
        return checkpoint

    def prune(self) -> None:
        """Forget the oldest when they are too many, and the contents that only they had."""
        numbers = self.numbers()
        if self.objects.size() > MOST_STORED:
            gone = len(numbers) // 2
        elif len(numbers) > MOST_KEPT:
            gone = len(numbers) - _KEPT_OF_MOST
        else:
            return
        for number in numbers[:gone]:
            os.unlink(self._file(number))
        needed = {
            entry.digest
            for number in numbers[gone:]
            for rows in self.read(number).entries
            for entry in rows.values()
            if entry is not None and entry.kind == "file"
        }
        self.objects.keep_only(needed)

    def _check_size(self) -> None:
        paths = size = 0
        for root in self._shelf.roots:
            for status in root.layer.changed():
                paths += 1
                size += status.st_size
        if paths > MOST_PATHS or size > MOST_BYTES:
            raise FerruleError(
                f"the changes of thread {self._shelf.thread_id} are too many to be kept for every"
                f" turn ({paths} paths, {size // _MIB} MiB; at most {MOST_PATHS} and"
                f" {MOST_BYTES // _MIB}); take some over or discard them with: ferrule changes"
            )

    def _file(self, number: int) -> str:
        return os.path.join(self._path, f"{number:06}.json")


def has_earlier_files(shelf: Shelf) -> bool:
    """Whether a turn could be gone back to that had changes, or files were taken back already."""
    if os.path.isdir(os.path.join(shelf.path, "rewinds")):
        return True
    kept = Checkpoints(shelf)
    return any(any(kept.read(number).entries) for number in reversed(kept.numbers()))
