"""Keeps what a plugin raises from ending more than the call it was made for.

The loop calls tools, reviewers and providers inside of `contained`: what their contract allows them
to raise comes through, anything else, an exit or a stray cancellation included, becomes an error.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError, PluginError

if TYPE_CHECKING:
    from collections.abc import Generator

FAULTS: Final = (Exception, SystemExit, KeyboardInterrupt, BaseExceptionGroup)
"""What plugin code may raise that must not reach the event loop.

A real interrupt is a signal, which the host receives and nobody raises.
"""


def is_cancelled() -> bool:
    """Whether somebody cancelled the running task; else a `CancelledError` is a plugin's fault."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


@contextmanager
def contained(who: str) -> Generator[None]:
    """Turn a plugin's fault into an error that names it.

    Raises:
        PluginError: It raised what its contract does not know.
        FerruleError: It raised this itself.
    """
    try:
        yield
    except FerruleError:
        raise
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise PluginError(f"{who} failed: CancelledError") from error
    except FAULTS as error:
        raise PluginError(f"{who} failed: {type(error).__name__}: {error}") from error
