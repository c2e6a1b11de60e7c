"""How requests name the program that sends them, and what they ask of a stream."""

from __future__ import annotations

import os
from typing import Final

VERSION: Final = "0.1.0"


def stream_headers() -> dict[str, str]:
    """Return the headers of every request whose answer is a stream of server-sent events."""
    return {
        "accept": "text/event-stream",
        "accept-encoding": "identity",  # compression would hold back small pieces of a stream
        "content-type": "application/json",
        "user-agent": f"ferrule/{VERSION} ({_system()})",
    }


def _system() -> str:
    """Name the system; `platform` would cost 4 ms to import, so it serves only where it must."""
    if not hasattr(os, "uname"):
        import platform

        return f"{platform.system()} {platform.release()}; {platform.machine()}"
    names = os.uname()
    return f"{names.sysname} {names.release}; {names.machine}"
