"""Marks threads in which plugins take part from a checkout, for one run only (`--dev-plugin`).

Whoever reads a transcript later must know that code took part which nobody installed: it stands in
the thread itself, so that every front end has it, in what is stored, and in a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ferrule.entry import Entry
    from ferrule_hookspecs.threads import Thread


def mark_checkouts(thread: Thread, usable: Iterable[Entry]) -> None:
    """Name in a thread what takes part from a checkout; nothing where nothing does."""
    found = {f"{e.distribution} {e.version} ({e.location})" for e in usable if e.is_dev}
    if found:
        thread["devPlugins"] = sorted(found)


def checkout_notices(thread: Thread) -> list[str]:
    """Say so in a sentence."""
    names = thread.get("devPlugins", [])
    return [f"development plugins take part: {', '.join(names)}"] if names else []
