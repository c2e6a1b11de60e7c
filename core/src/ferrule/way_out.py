"""The managed way to the network for commands whose sandbox has none.

Used by every sandbox session that may have one. Nothing is loaded before a command needs it, and
without `[network] enabled` nothing is loaded at all. Whatever is missing or fails leaves a command
without network, never with more of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule.containment import contained
from ferrule.environment import NETWORK_OFF
from ferrule_hookspecs.egress import EgressRequest
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ferrule.dispatcher import Dispatcher
    from ferrule_hookspecs.egress import Egress, EgressAnswer, EgressFact, EgressQuestion, OpenDoor
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import Command, Launch, ResolvedPolicy, SandboxBackend

_OPENING_S: Final = 30.0


class Origin(NamedTuple):
    """Who starts a command, and what counts for it beside the configuration.

    Attributes:
        turn_id: The turn; empty outside of one.
        call_id: The call; empty outside of one.
        presets: More presets of the network.
        rules: More rules about the network.
        ask: Answers questions about its connections; None where nobody can.
        tell: Is told what happens to its connections.
        is_enabled: Whether it may use a managed network whatever the configuration says.
    """

    turn_id: str = ""
    call_id: str = ""
    presets: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    ask: Callable[[EgressQuestion], Awaitable[EgressAnswer]] | None = None
    tell: Callable[[EgressFact], None] | None = None
    is_enabled: bool = False


class WayOut:
    """The managed network of one session, found when the first command needs it."""

    def __init__(
        self, hooks: Callable[[], Dispatcher], context: PluginContext, warn: Callable[[str], None]
    ) -> None:
        """Find nothing yet.

        Args:
            hooks: Returns the dispatcher.
            context: The session's.
            warn: Told once why commands have no network although one is enabled.
        """
        self._hooks = hooks
        self._context = context
        self._warn = warn
        self._told: set[str] = set()
        self._egress: Egress | None = None
        self._is_sought = False
        self._seeking = anyio.Lock()  # only one task asks the plugins; the others take its finding

    def _is_enabled(self, origin: Origin) -> bool:
        """Whether a command may use a managed network; what is switched off stays off."""
        enabled = self._context.table("network").get("enabled")
        return enabled is True or (enabled is not False and origin.is_enabled)

    async def open(
        self, backend: SandboxBackend, policy: ResolvedPolicy, command: Command, origin: Origin
    ) -> OpenDoor | None:
        """Make a way out for a command; None where it gets none.

        Raises:
            SandboxUnavailableError: The managed network failed, so that the command must not start.
        """
        if policy.unconfined or policy.network or not self._is_enabled(origin):
            return None
        if "door" not in backend.probe().enforced:
            self._tell(
                f"commands have no network: the sandbox {backend.name} cannot make the managed"
                " proxy the only way to it here; use the sandbox bubblewrap"
            )
            return None
        egress = await self._found()
        if egress is None:
            return None
        request = EgressRequest(
            command.argv,
            self._context.thread_id,
            origin.turn_id,
            origin.call_id,
            origin.presets,
            origin.rules,
            origin.ask,
            origin.tell,
        )
        try:
            with anyio.fail_after(_OPENING_S), contained("the managed network"):
                return await egress.open(request)
        except TimeoutError:
            raise SandboxUnavailableError(
                f"the managed network did not open within {_OPENING_S:g} s; try again"
            ) from None

    async def aclose(self) -> None:
        """End the managed network, if there is one."""
        egress, self._egress = self._egress, None
        if egress is not None:
            await egress.aclose()

    async def _found(self) -> Egress | None:
        async with self._seeking:
            if not self._is_sought:
                self._egress = await self._offered()
                self._is_sought = True
        return self._egress

    async def _offered(self) -> Egress | None:
        offers = await self._hooks().gather("ferrule_egress", context=self._context)
        if len(offers) == 1:
            return cast("Egress", offers[0][1])
        for _, offer in offers:
            await cast("Egress", offer).aclose()
        names = " and ".join(name for name, _ in offers)
        self._tell(
            f"commands have no network: {names} both offer a managed one; disable one of them"
            if offers
            else "commands have no network: [network] is enabled, but no plugin offers one;"
            " install it with: pip install ferrule-network"
        )
        return None

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._warn(text)


def with_door(command: Command, opened: OpenDoor) -> Command:
    """Let a command know its door."""
    env: Mapping[str, str] = {
        name: value for name, value in command.env.items() if name not in NETWORK_OFF
    }
    return command._replace(env={**env, **opened.environment}, door=opened.door)


def policy_at(policy: ResolvedPolicy, opened: OpenDoor) -> ResolvedPolicy:
    """Let a command read what its door needs, and not what its door keeps."""
    door, shown = opened.door, policy.readable_roots
    kept = door.unreadable
    if shown is not None:
        roots = (*shown, *(root.path for root in policy.writable_roots))
        kept = tuple(path for path in kept if any(is_inside(path, root) for root in roots))
        shown = (*shown, *door.readable)
    denied = tuple(dict.fromkeys((*policy.deny_read, *kept)))
    return policy._replace(readable_roots=shown, deny_read=denied)


def closed_after(launch: Launch, opened: OpenDoor) -> Launch:
    """Close a door when the command is gone, on whichever path."""
    inner = launch.cleanup

    def cleanup() -> None:
        try:
            opened.close()
        finally:
            if inner is not None:
                inner()

    return launch._replace(cleanup=cleanup)
