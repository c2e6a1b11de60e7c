"""How requests name the program and the thread that send them."""

from __future__ import annotations

from typing import Final

from ferrule_wire.identity import stream_headers

ORIGINATOR: Final = "ferrule_exec"


def identity_headers(thread_id: str) -> dict[str, str]:
    """Return the headers that are the same for every request of a thread."""
    headers = stream_headers() | {"originator": ORIGINATOR}
    if thread_id:
        for name in ("session-id", "thread-id", "x-client-request-id"):
            headers[name] = thread_id
    return headers
