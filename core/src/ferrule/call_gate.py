"""Decides when a tool call of a response may start, in call order.

Calls that are safe in parallel overlap with each other; any other call runs alone: after everything
before it, and before everything behind it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@dataclass(eq=False, slots=True)
class Ticket:
    """A call's place in the order."""

    is_parallel: bool
    ahead: list[anyio.Event]
    done: anyio.Event = field(default_factory=anyio.Event)


class CallGate:
    """The order of one response's calls; `admit` must be called in call order."""

    def __init__(self) -> None:
        self._tickets: list[Ticket] = []

    def admit(self, *, is_parallel: bool) -> Ticket:
        """Give the next call its place."""
        self._tickets = [t for t in self._tickets if not t.done.is_set()]
        ahead = [t.done for t in self._tickets if not (is_parallel and t.is_parallel)]
        ticket = Ticket(is_parallel, ahead)
        self._tickets.append(ticket)
        return ticket

    @asynccontextmanager
    async def turn_of(self, ticket: Ticket) -> AsyncGenerator[None]:
        """Hold the ticket's turn; waits for what must run before it."""
        try:
            for event in ticket.ahead:
                if not event.is_set():  # waiting costs a round of the event loop even then
                    await event.wait()
            yield
        finally:
            ticket.done.set()
