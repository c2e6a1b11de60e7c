"""The sandbox of one attempt, and what a tool is given to work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ferrule.ceiling import above, kept_variables, narrowed, sandbox_policies, standings
from ferrule.environment import NETWORK_OFF, command_environment
from ferrule.files import LocalFiles
from ferrule.permissions import NOTHING, merged, widened
from ferrule.policy import resolve_policy
from ferrule.session_view import in_view
from ferrule.settling import CHANGING, STARTS
from ferrule.way_out import closed_after, policy_at, with_door
from ferrule_hookspecs.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule.processes import OwnedProcess, ProcessOwner
    from ferrule.session_parts import SessionParts
    from ferrule.way_out import Origin, WayOut
    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.permissions import AdditionalPermissions
    from ferrule_hookspecs.policies import SandboxPolicy
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        Launch,
        ResolvedPolicy,
        SandboxBackend,
    )
    from ferrule_hookspecs.tools import Process, SandboxSession


class BoundSandbox:
    """A backend bound to a resolved policy; satisfies `SandboxSession`.

    Attributes:
        origin: Who starts its commands; without one, none has a way to the network.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        policy: ResolvedPolicy,
        owner: ProcessOwner,
        way_out: WayOut | None = None,
    ) -> None:
        self.policy = policy
        self.files: FileSystem = backend.files(policy) or LocalFiles(policy)
        self._backend = backend
        self._owner = owner
        self._way_out = way_out
        self.origin: Origin | None = None

    async def spawn(self, command: Command) -> Process:
        """Start a command; raises `SandboxUnavailableError` when the sandbox cannot start."""
        for _ in range(STARTS):
            launch = await self._launch(command)
            process = await self._owner.spawn(
                launch,
                tty=command.tty,
                open_stdin=command.open_stdin,
                size=command.size,
                separate_stderr=command.separate_stderr,
            )
            if launch.settled is None or await _stands(process, launch.settled):
                return process
        raise SandboxUnavailableError(CHANGING)

    async def _launch(self, command: Command) -> Launch:
        """Prepare a command, its way to the network included; that ends with the launch."""
        if self._way_out is None or self.origin is None:
            return self._backend.prepare(self.policy, command)
        opened = await self._way_out.open(self._backend, self.policy, command, self.origin)
        if opened is None:
            return self._backend.prepare(self.policy, command)
        try:
            policy = policy_at(self.policy, opened)
            return closed_after(self._backend.prepare(policy, with_door(command, opened)), opened)
        except BaseException:
            opened.close()
            raise

    def classify(self, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox made a command fail."""
        return self._backend.classify(self.policy, result)


async def _stands(process: OwnedProcess, settled: Callable[[], bool]) -> bool:
    """Wait for the sandbox of a command; what is left of one that could not be set up ends here."""
    from anyio import to_thread  # heavy, and only needed here

    try:
        if await to_thread.run_sync(settled):
            return True
    except BaseException:
        process.kill()
        raise
    with anyio.CancelScope(shield=True):
        await process.wait()
    process.close_output()
    return False


def effective_policy(
    parts: SessionParts, turn_id: str = "", granted: AdditionalPermissions = NOTHING
) -> ResolvedPolicy:
    """What a session's policy means now, with what was granted; never more than its parent's."""
    settings = parts.settings
    policy = parts.recipes.opened(_resolved(parts, settings.sandbox_policy, settings.cwd))
    if parts.parent is not None:
        policy = narrowed(policy, effective_policy(parts.parent, parts.parent.recorder.running))
        for standing in standings(parts.parent):
            if standing.sandbox_policy != parts.parent.settings.sandbox_policy:
                ahead = _resolved(parts.parent, standing.sandbox_policy, standing.cwd)
                policy = narrowed(policy, parts.parent.recipes.opened(ahead))
    held = parts.grants.held(sandbox_policies(parts), turn_id)
    return widened(policy, merged((held, granted)), parts.home)


def _resolved(parts: SessionParts, policy: SandboxPolicy, cwd: str) -> ResolvedPolicy:
    return resolve_policy(
        policy,
        cwd,
        environ=parts.context.environ,
        home=parts.home,
        extra_roots=parts.settings.extra_roots,
        config=parts.context.config,
    )


def confined(
    parts: SessionParts, turn_id: str = "", granted: AdditionalPermissions = NOTHING
) -> BoundSandbox:
    """The sandbox the session's policy asks for, with what was granted in the turn and beyond."""
    policy = effective_policy(parts, turn_id, granted)
    backend = parts.unconfined() if policy.unconfined else parts.backend(policy)
    return BoundSandbox(in_view(parts, backend), policy, parts.owner, parts.way_out)


def escalated(parts: SessionParts) -> BoundSandbox:
    """No sandbox, for a call that was approved to run without."""
    policy = resolve_policy(
        {"type": "dangerFullAccess"},
        parts.settings.cwd,
        environ=parts.context.environ,
        home=parts.home,
    )
    return BoundSandbox(in_view(parts, parts.unconfined()), policy, parts.owner)


class CallContext:
    """What a tool is given for one attempt; satisfies `ToolContext`."""

    def __init__(self, parts: SessionParts, turn_id: str, sandbox: BoundSandbox) -> None:
        self.thread_id = parts.context.thread_id
        self.turn_id = turn_id
        self.cwd = parts.settings.cwd
        self.sandbox: SandboxSession = sandbox
        self.output_token_limit = parts.settings.output_token_limit
        self.ask_client = parts.ask_client
        self._parts = parts

    def emit(self, event: Event) -> None:
        """Tell the session's clients something; also after the call has returned."""
        self._parts.recorder.emit(event)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment for a command, with the session's policy applied."""
        context = self._parts.context
        environment = command_environment(
            context.config, context.environ, extra, self._parts.settings.sandbox_policy
        )
        if self._parts.parent is not None:
            theirs = [
                command_environment(
                    one.context.config, one.context.environ, extra, standing.sandbox_policy
                )
                for one in above(self._parts)
                for standing in standings(one)
            ]
            environment = kept_variables(environment, theirs)
        environment["FERRULE_THREAD_ID"] = environment["CODEX_THREAD_ID"] = self.thread_id
        if not self.sandbox.policy.network and not self.sandbox.policy.unconfined:
            environment.update(dict.fromkeys(NETWORK_OFF, "1"))
        return self._parts.recipes.environment(self.sandbox.policy, environment, extra or ())
