"""A turn as the reply to the request that began it shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_hookspecs.threads import Turn


def begun_turn(turn_id: str) -> Turn:
    """Describe a turn of which nothing is known yet but that it runs."""
    return {
        "id": turn_id,
        "items": [],
        "itemsView": "notLoaded",
        "status": "inProgress",
        "error": None,
        "startedAt": None,
        "completedAt": None,
        "durationMs": None,
    }
