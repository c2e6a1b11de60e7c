"""Has the provider and the tools prepare what the first turn would otherwise wait for."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, cast
from weakref import WeakSet

import anyio

from ferrule.attempt import CallContext, confined
from ferrule.containment import contained
from ferrule.turn import next_request
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ferrule.conversation import Conversation
    from ferrule.dispatcher import Dispatcher
    from ferrule.session_parts import SessionParts
    from ferrule_hookspecs.provider import ModelRequest

# Longer than a request takes to leave, shorter than a model takes to ask for its first tool.
_HEAD_START_S: Final = 0.1
_prepared: Final[WeakSet[Dispatcher]] = WeakSet()
"""Of each configuration its first session: what it imported, the next ones need not see to."""


class Warming:
    """What a session prepares in the background; nobody waits for it, and nothing fails by it."""

    def __init__(self, parts: SessionParts) -> None:
        self._parts = parts
        self._provider = anyio.CancelScope()
        self._tools = anyio.CancelScope()
        self._has_begun = False

    def cancel(self) -> None:
        """Prepare nothing more."""
        self._tools.cancel()
        self._provider.cancel()

    async def provider(self, conversation: Conversation) -> None:
        """Let the provider prepare the first request; what goes wrong, that request will say."""
        provider = self._parts.provider
        with self._provider, contextlib.suppress(FerruleError), contained("the model provider"):
            prewarm = getattr(provider, "prewarm", None)
            if callable(prewarm) and self._parts.hooks not in _prepared:
                await anyio.to_thread.run_sync(prewarm)
                _prepared.add(self._parts.hooks)
            warm_up = getattr(provider, "warm_up", None)
            if callable(warm_up):
                request = next_request(self._parts, conversation, "")
                await cast("Callable[[ModelRequest], Awaitable[None]]", warm_up)(request)

    async def tools(self, turn_id: str) -> None:
        """Let tools prepare their first call while the model thinks; not before it was asked."""
        if self._has_begun:
            return
        self._has_begun = True
        with self._tools:
            with anyio.move_on_after(_HEAD_START_S):
                await self._parts.call_began.wait()
            try:
                with contained("prewarm"):
                    context = CallContext(self._parts, turn_id, confined(self._parts, turn_id))
                    for tool in self._parts.tools.values():
                        await tool.prewarm(context)
            except FerruleError as error:  # such as a sandbox that cannot start
                self._parts.recorder.warning(str(error))
