"""What to look at to learn that a plugin changed on disk: a few dozen time stamps.

Ferrule's own checkouts are left out: no part of Ferrule is replaced in a running process.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ferrule.approval_record import approvals_file
from ferrule.catalog import BUILT_IN_DISTRIBUTIONS
from ferrule.stamps import file_stamp, tree_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ferrule.entry import Entry
    from ferrule.index import Index

Print = tuple[tuple[object, ...], ...]


class Watched(NamedTuple):
    """Files and folders with the stamps under which what is known holds."""

    files: Mapping[str, str]
    trees: Mapping[str, str]

    def has_changed(self) -> bool:
        """Whether any stamp differs; a few microseconds for each."""
        return any(file_stamp(path) != stamp for path, stamp in self.files.items()) or any(
            tree_stamp(path) != stamp for path, stamp in self.trees.items()
        )


def watched_by(index: Index, environ: Mapping[str, str], *, is_new: bool = True) -> Watched:
    """List what an index was made from, with the stamps it was read under.

    Args:
        index: The index.
        environ: The process environment.
        is_new: Otherwise it could not be read anew, and counts until something changes again.
    """
    files = dict(index.stamps)
    trees: dict[str, str] = {}
    for entry in index.all_entries():
        if entry.distribution in BUILT_IN_DISTRIBUTIONS:
            continue
        if entry.is_dev:
            trees[entry.roots[0]] = entry.stamp
            project = os.path.join(entry.location, "pyproject.toml")
            files[project] = file_stamp(project)
            continue
        parts = entry.stamp.split(";")
        files[os.path.join(entry.location, "RECORD")] = parts[1]
        if entry.is_editable:
            trees[entry.roots[0]] = parts[2]
    approvals = str(approvals_file(environ))
    files[approvals] = file_stamp(approvals)
    if not is_new:
        files = {path: file_stamp(path) for path in files}
        trees = {path: tree_stamp(path) for path in trees}
    return Watched(files, trees)


def own_stamp(entry: Entry) -> str:
    """The stamp of an entry's own files, without that of the contract."""
    return entry.stamp if entry.is_dev else entry.stamp.rpartition(";")[0]


def print_of(entries: Iterable[Entry]) -> Print:
    """What is known of entries without importing them, to be compared."""
    return tuple(sorted(map(_one, entries)))


def _one(entry: Entry) -> tuple[object, ...]:
    said = repr((entry.manifest, entry.manifest_fault, entry.approval, entry.off, entry.changed))
    what = (entry.group, entry.name, entry.distribution, entry.version, entry.target)
    return (*what, entry.location, own_stamp(entry), said)
