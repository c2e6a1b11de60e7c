"""What a batch is going to do, written before it does anything, and how it ended."""

from __future__ import annotations

import json
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from ferrule_overlay.private_file import write_private
from ferrule_overlay.tree import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BatchKind = Literal["apply", "rollback", "rewind"]


class Transition(NamedTuple):
    """One path that a batch takes from one state to another.

    Attributes:
        root: Which of the covered folders it lies in.
        path: Relative to that folder.
        before: What must be there for the batch to touch it.
        after: What is there afterwards.
    """

    root: int
    path: str
    before: Entry | None
    after: Entry | None


class Batch(NamedTuple):
    """A batch that was begun.

    Attributes:
        number: From 1.
        kind: What it does.
        transitions: Its plan.
        of: The batch that a rollback takes back, the checkpoint a rewind goes to; 0 for none.
        made_at: In seconds since 1970.
        done: What was brought to its new state; None while the batch has not ended.
        left: What was not, and why.
    """

    number: int
    kind: BatchKind
    transitions: Sequence[Transition]
    of: int = 0
    made_at: float = 0.0
    done: Sequence[tuple[int, str]] | None = None
    left: Mapping[str, str] = MappingProxyType({})


class Journal:
    """The batches of one thread, a file for each."""

    def __init__(self, path: str) -> None:
        """Take the folder; it is made with the first batch."""
        self._path = path

    def begin(self, batch: Batch) -> None:
        """Write the plan; from now on the batch will be carried out, come what may."""
        os.makedirs(self._path, mode=0o700, exist_ok=True)
        plan = {
            "kind": batch.kind,
            "of": batch.of,
            "made_at": batch.made_at,
            "transitions": batch.transitions,
        }
        write_private(self._file(batch.number, "plan"), json.dumps(plan))

    def end(self, batch: Batch) -> None:
        """Write how it ended."""
        result = {"done": batch.done, "left": dict(batch.left)}
        write_private(self._file(batch.number, "end"), json.dumps(result))

    def batches(self) -> list[Batch]:
        """Everything that was begun, oldest first."""
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        numbers = sorted(int(name[:-5]) for name in names if name.endswith(".plan"))
        return [self._read(number) for number in numbers]

    def next_number(self) -> int:
        """The number of the next batch."""
        return max((batch.number for batch in self.batches()), default=0) + 1

    def _read(self, number: int) -> Batch:
        with open(self._file(number, "plan"), encoding="utf-8") as file:
            plan = json.load(file)
        batch = Batch(
            number,
            plan["kind"],
            [
                Transition(root, path, entry_of(before), entry_of(after))
                for root, path, before, after in plan["transitions"]
            ],
            plan["of"],
            plan["made_at"],
        )
        try:
            with open(self._file(number, "end"), encoding="utf-8") as file:
                result = json.load(file)
        except FileNotFoundError:
            return batch
        done = [(root, path) for root, path in result["done"]]
        return batch._replace(done=done, left=result["left"])

    def _file(self, number: int, what: str) -> str:
        return os.path.join(self._path, f"{number:06}.{what}")


def entry_of(row: list[object] | None) -> Entry | None:
    """Read what a path stands for from its row in a stored file."""
    if row is None:
        return None
    kind, mode, digest, size, owner = row
    return Entry(kind, mode, digest, size, tuple(owner))  # type: ignore[arg-type]
