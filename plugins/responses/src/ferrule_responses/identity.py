"""How requests name the program that sends them."""

from __future__ import annotations

import os
from typing import Final

VERSION: Final = "0.1.0"
ORIGINATOR: Final = "ferrule_exec"


def identity_headers(thread_id: str) -> dict[str, str]:
    """Return the headers that are the same for every request of a thread."""
    headers = {
        "accept": "text/event-stream",
        "accept-encoding": "identity",  # compression would hold back small pieces of a stream
        "content-type": "application/json",
        "originator": ORIGINATOR,
        "user-agent": f"ferrule/{VERSION} ({_system()})",
    }
    if thread_id:
        for name in ("session-id", "thread-id", "x-client-request-id"):
            headers[name] = thread_id
    return headers


def _system() -> str:
    """Name the system; `platform` would cost 4 ms to import, so it serves only where it must."""
    if not hasattr(os, "uname"):
        import platform

        return f"{platform.system()} {platform.release()}; {platform.machine()}"
    names = os.uname()
    return f"{names.sysname} {names.release}; {names.machine}"
