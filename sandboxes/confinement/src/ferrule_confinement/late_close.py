"""Closes descriptors of removed files where nobody waits for it.

The last close of a removed file is when a file system really removes it, which may take it
milliseconds, and a command has several of them.
"""

from __future__ import annotations

import os
from queue import SimpleQueue
from threading import Lock, Thread

_waiting: SimpleQueue[int] = SimpleQueue()
_lock = Lock()
_thread: Thread | None = None


def close_later(descriptor: int) -> None:
    """Close a descriptor soon; the end of this process does so as well."""
    global _thread
    with _lock:
        if _thread is None or not _thread.is_alive():  # in a child there is no thread of ours
            _thread = Thread(target=_close_all, name="late-close", daemon=True)
            _thread.start()
    _waiting.put(descriptor)


def _close_all() -> None:
    while True:
        os.close(_waiting.get())
