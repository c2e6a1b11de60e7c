"""A channel: one connection to one server. It moves whole messages and knows nothing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager


class Channel(Protocol):
    """One connection to one server.

    At most one task sends and one receives.
    """

    async def send(self, message: bytes) -> None:
        """Send one message; waits while the server takes none.

        Raises:
            ConnectionLostError: The server is gone.
        """
        ...

    async def receive(self) -> bytes:
        """Wait for the next message.

        Raises:
            ConnectionLostError: The server is gone; the message says why, as far as it is known.
        """
        ...


if TYPE_CHECKING:
    Opener = Callable[[], AbstractAsyncContextManager[Channel]]
    """Opens a channel for as long as the block lasts and leaves nothing behind."""
