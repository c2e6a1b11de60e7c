"""A model of what Windows does with names, access lists and restricted tokens, where there is none.

It is what its documentation says: a list is read from the top, refusals written on an object stand
before grants on it and both before what is inherited, nearer before farther; a handle that does not
share deletion keeps a name and all folders on the way to it. Files themselves are those of this
machine. It proves what entries and configurations mean, not what a real Windows makes of them.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ferrule_hookspecs.evaluator import canonical, is_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ferrule_testkit.access_table import Case

_WRITE_DATA: Final = 0x2
_ADD_FILE: Final = 0x2
_ADD_SUBDIRECTORY: Final = 0x4
_DELETE: Final = 0x10000
_DELETE_CHILD: Final = 0x40
_OBJECT_INHERIT: Final = 0x1
_CONTAINER_INHERIT: Final = 0x2
_INHERIT_ONLY: Final = 0x8


class Entry(Protocol):
    """An entry of an access list."""

    @property
    def path(self) -> str:
        """Whose list it stands in."""
        ...

    @property
    def kind(self) -> str:
        """`allow` or `deny`."""
        ...

    @property
    def mask(self) -> int:
        """The rights."""
        ...

    @property
    def flags(self) -> int:
        """What inherits it."""
        ...


class ModelHold(NamedTuple):
    """A handle of the model."""

    release: Callable[[], None]

    def close(self) -> None:
        """Close it."""
        self.release()


class WindowsModel:
    """One machine. Its failures can be set.

    Attributes:
        unheld: Paths that cannot be held.
        unchangeable: Paths whose access lists cannot be changed.
    """

    def __init__(self) -> None:
        """A machine with one drive and nothing changed."""
        self.unheld: set[str] = set()
        self.unchangeable: set[str] = set()
        self.held: Counter[str] = Counter()
        self.stand_ins: set[str] = set()
        self.entries: dict[str, list[tuple[str, Entry]]] = {}
        self.fat_drives: tuple[str, ...] = ()
        self.number = 26100

    def build(self) -> int:
        """The build of the first Windows that has MXC, unless set otherwise."""
        return self.number

    def drives(self) -> tuple[str, ...]:
        """The one drive."""
        return ("/",)

    def has_access_lists(self, path: str) -> bool:
        """Whether a path lies on none of the drives without."""
        return not any(is_inside(path, drive) for drive in self.fat_drives)

    def hold(self, path: str) -> ModelHold:
        """Keep a name."""
        _fail_at(path, self.unheld)
        os.lstat(path)
        self.held[path] += 1
        return ModelHold(lambda: self.held.subtract([path]))

    def stand_in(self, path: str) -> ModelHold:
        """Make an empty folder that goes away when it is let go."""
        _fail_at(path, self.unheld)
        os.mkdir(path)
        self.stand_ins.add(path)

        def release() -> None:
            self.stand_ins.remove(path)
            with contextlib.suppress(OSError):  # one that holds something stays
                os.rmdir(path)

        return ModelHold(release)

    def add_entries(self, sid: str, entries: Sequence[Entry]) -> None:
        """Add entries one by one; those before a fault stay."""
        for entry in entries:
            _fail_at(entry.path, self.unchangeable)
            os.lstat(entry.path)
            self.entries.setdefault(entry.path, []).append((sid, entry))

    def remove_entries(self, sid: str, paths: Sequence[str]) -> None:
        """Remove the entries of an identity."""
        for path in paths:
            _fail_at(path, self.unchangeable)
            kept = [each for each in self.entries.pop(path, []) if each[0] != sid]
            if kept:
                self.entries[path] = kept

    def permits(self, sid: str, case: Case) -> bool:
        """Whether an operation of the evaluator could be done by a command with an identity."""
        path = canonical(case.path, case.operation)
        if case.operation == "read":
            return True
        if any(is_inside(path, place) for place in self.stand_ins):
            return False
        may_add = self._may(sid, os.path.dirname(path), _ADD_FILE | _ADD_SUBDIRECTORY)
        if case.operation == "create" or not os.path.lexists(path):
            return may_add and not os.path.lexists(path)
        if case.operation == "write":
            return self._may(sid, path, _WRITE_DATA)
        may_go = self._may(sid, path, _DELETE) or self._may(
            sid, os.path.dirname(path), _DELETE_CHILD
        )
        return may_go and not self.keeps(path) and (may_add or case.operation == "remove")

    def keeps(self, path: str) -> bool:
        """Whether a handle keeps the name of a path."""
        names = (*(name for name, count in self.held.items() if count > 0), *self.stand_ins)
        return any(is_inside(name, path) for name in names)

    def _may(self, sid: str, path: str, wanted: int) -> bool:
        """Read an access list from its top until every right is decided."""
        for entry in self._list(sid, path):
            if entry.kind == "deny" and entry.mask & wanted:
                return False
            if entry.kind == "allow":
                wanted &= ~entry.mask
        return not wanted

    def _list(self, sid: str, path: str) -> Iterator[Entry]:
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        inheritable = _CONTAINER_INHERIT if is_folder else _OBJECT_INHERIT
        at = path
        while True:
            own = [entry for whose, entry in self.entries.get(at, []) if whose == sid]
            if at == path:
                heard = [entry for entry in own if not entry.flags & _INHERIT_ONLY]
            else:
                heard = [entry for entry in own if entry.flags & inheritable]
            yield from sorted(heard, key=lambda entry: entry.kind != "deny")
            if at == os.path.dirname(at):
                return
            at = os.path.dirname(at)


class ContainerModel(NamedTuple):
    """What a container may do with files: the deepest path that is named decides.

    Attributes:
        writable: `readwritePaths` of its configuration.
        readable: `readonlyPaths`.
        hidden: `deniedPaths`.
        machine: What is held on the machine meanwhile.
    """

    writable: Sequence[str]
    readable: Sequence[str]
    hidden: Sequence[str]
    machine: WindowsModel

    def permits(self, case: Case) -> bool:
        """Whether an operation of the evaluator could be done in it."""
        path = canonical(case.path, case.operation)
        level = self._level(path)
        if case.operation == "read":
            return level != "hidden"
        if level != "writable" or any(is_inside(path, place) for place in self.machine.stand_ins):
            return False
        if case.operation in ("rename", "remove"):
            return not self.machine.keeps(path)
        return case.operation == "write" or not os.path.lexists(path)

    def _level(self, path: str) -> str:
        """Of paths that are named twice, and of two on the same depth, the stricter one counts."""
        found = ("hidden", 0)
        for level, places in (
            ("writable", self.writable),
            ("readable", self.readable),
            ("hidden", self.hidden),
        ):
            depth = max((len(place) for place in places if is_inside(path, place)), default=0)
            if depth >= found[1] and depth:
                found = (level, depth)
        return found[0]


def _fail_at(path: str, places: set[str]) -> None:
    if path in places:
        raise OSError(0, f"access is denied: {path}")
