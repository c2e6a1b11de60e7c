"""How requests name the program and the thread that send them."""

from __future__ import annotations

from typing import Final

from ferrule_wire.identity import stream_headers

ORIGINATOR: Final = "ferrule_exec"
_WEBSOCKET_PROTOCOL: Final = "responses_websockets=2026-02-06"


def identity_headers(thread_id: str) -> dict[str, str]:
    """Return the headers that are the same for every request of a thread."""
    headers = stream_headers() | {"originator": ORIGINATOR}
    if thread_id:
        for name in ("session-id", "thread-id", "x-client-request-id"):
            headers[name] = thread_id
    return headers


def upgrade_headers(thread_id: str) -> dict[str, str]:
    """Return the headers that open a WebSocket for a thread."""
    headers = identity_headers(thread_id)
    for name in ("accept", "accept-encoding", "content-type"):  # there is no body, nor an answer
        del headers[name]
    return headers | {"openai-beta": _WEBSOCKET_PROTOCOL}
