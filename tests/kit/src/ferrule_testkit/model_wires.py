"""The model APIs a scripted model speaks, by the last part of the path they are asked at."""

from __future__ import annotations

from typing import Final

from ferrule_testkit.chat_wire import CHAT
from ferrule_testkit.messages_wire import MESSAGES
from ferrule_testkit.model_script import RESPONSES, Wire

WIRES: Final[dict[str, Wire]] = {
    "/responses": RESPONSES,
    "/responses/compact": RESPONSES,
    "/chat/completions": CHAT,
    "/messages": MESSAGES,
}


def wire_at(path: str) -> Wire | None:
    """Find the API that is asked at a path, None where there is none."""
    place = path.partition("?")[0].rstrip("/")
    return next((wire for end, wire in WIRES.items() if place.endswith(end)), None)
