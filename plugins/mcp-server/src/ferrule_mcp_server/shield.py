"""What is finished although its caller is cancelled, so that what it opens is known to somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable

T = TypeVar("T")


async def shielded(work: Awaitable[T]) -> T:
    """Finish it; whoever is cancelled meanwhile learns of it afterwards."""
    done: list[T] = []
    with anyio.CancelScope(shield=True):
        done.append(await work)
    return done[0]
