"""Codex's forks: a fork there holds only what is new and names the thread it continues.

Read in full, such a thread is like one of ours, whose forks are self-contained. Used by the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule.rollout import Rollout
    from ferrule_hookspecs.store import RolloutRecord

BORROWED_UNTIL: Final = "forked_from_ordinal_exclusive"
"""Key in `session_meta` of the ordinal at which the fork leaves its parent."""


def with_borrowed(rollout: Rollout, read: Callable[[str], Rollout | None]) -> Rollout:
    """Put what a fork borrows after its metadata.

    Args:
        rollout: The fork as it is stored; anything else is returned as it is.
        read: Reads another thread as it is stored, or returns None when there is none.

    Raises:
        StoreError: The thread it continues is gone.
    """
    records, seen = rollout.records, set[str]()
    while (until := records[0]["payload"].get(BORROWED_UNTIL)) is not None:
        parent_id = str(records[0]["payload"].get("forked_from_id"))
        parent = None if parent_id in seen else read(parent_id)
        if parent is None or not isinstance(until, int):
            raise StoreError(
                f"thread {rollout.records[0]['payload'].get('id')} continues thread {parent_id}, "
                "which is not stored here; bring that one over, too"
            )
        seen.add(parent_id)
        records = _joined(records, parent.records, until)
    return rollout._replace(records=[rollout.records[0], *records[1:]])


def _joined(
    fork: list[RolloutRecord], parent: list[RolloutRecord], until: int
) -> list[RolloutRecord]:
    """Return the fork with its parent's beginning, under the parent's metadata."""
    return [*(record for record in parent if record["ordinal"] < until), *fork[1:]]
