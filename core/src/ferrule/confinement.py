"""How one command outside of a session is confined: by `ferrule sandbox` and its words."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ferrule.backend_choice import choose_backend
from ferrule.environment import NETWORK_OFF, command_environment
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule.recipes import RecipeBook, configured_recipes
from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.host import ConfigRequest
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.sandbox import Command

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from anyio.abc import TaskGroup
    from anyio.from_thread import BlockingPortal

    from ferrule.host import LocalHost
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.egress import EgressFact, OpenDoor
    from ferrule_hookspecs.host import ConfigEdit, Host
    from ferrule_hookspecs.sandbox import Launch, ResolvedPolicy, SandboxBackend
    from ferrule_hookspecs.tools import Process


@dataclass(slots=True)
class Confinement:
    """What a command gets.

    Attributes:
        backend: What confines it; the caller closes the confinement.
        policy: What is enforced.
        environment: The command's.
        context: The configuration it was made from.
        manager: Its plugins.
        recipes: What programs need beyond the policy; it is in `policy` already.
        network_rules: Rules of the managed network that came with the policy.
    """

    backend: SandboxBackend
    policy: ResolvedPolicy
    environment: Mapping[str, str]
    context: PluginContext
    manager: PluginManager
    recipes: RecipeBook
    network_rules: tuple[str, ...] = ()

    @property
    def has_managed_network(self) -> bool:
        """Whether a command is to get a way to the network that is not the machine's own."""
        is_enabled = self.context.table("network").get("enabled") is True
        is_wanted = is_enabled or bool(self.network_rules)
        return is_wanted and not self.policy.network and not self.policy.unconfined

    @contextmanager
    def launch(
        self, words: Sequence[str], cwd: str, tell: Callable[[EgressFact], None] | None = None
    ) -> Generator[Launch]:
        """Prepare a command, its way to the network included; that ends with the block.

        Args:
            words: The command.
            cwd: Where it runs.
            tell: Is told what happens to its connections, in another thread.
        """
        command = Command(tuple(words), cwd, self.environment)
        if not self.has_managed_network:
            yield self.backend.prepare(self.policy, command)
            return
        import anyio
        from anyio.from_thread import start_blocking_portal

        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(portal.call(anyio.create_task_group)) as group,
            self._way_out(portal, _ThreadRuntime(group), command, tell) as launch,
        ):
            yield launch

    def close(self) -> None:
        """Close the backend; an event loop is started only for one that has to wait."""
        closing = self.backend.aclose()
        try:
            closing.send(None)
        except StopIteration:
            return
        except RuntimeError:  # it needs an event loop
            import asyncio

            asyncio.run(self.backend.aclose())

    @contextmanager
    def _way_out(
        self,
        portal: BlockingPortal,
        runtime: _ThreadRuntime,
        command: Command,
        tell: Callable[[EgressFact], None] | None,
    ) -> Generator[Launch]:
        from ferrule.way_out import Origin, WayOut, closed_after, policy_at, with_door

        context = self.context._replace(runtime=runtime)
        way_out = WayOut(lambda: self.manager.hooks, context, context.warn)
        uses_recipes = self.policy.mode == "workspace-write"
        origin = Origin(
            presets=self.recipes.presets if uses_recipes else (),
            rules=(*self.network_rules, *(self.recipes.rules if uses_recipes else ())),
            tell=tell,
            is_enabled=bool(self.network_rules),
        )
        try:
            opened = portal.call(way_out.open, self.backend, self.policy, command, origin)
            if opened is None:
                yield self.backend.prepare(self.policy, command)
            else:
                policy = policy_at(self.policy, opened)
                launch = self.backend.prepare(policy, with_door(command, opened))
                yield closed_after(launch, _ThreadDoor(opened, portal))
        finally:
            portal.call(way_out.aclose)


def confine(arguments: Namespace, cwd: str, host: Host, warn: Callable[[str], None]) -> Confinement:
    """Read the configuration and find what it makes of the options of `ferrule sandbox`.

    Raises:
        FerruleError: The configuration cannot be used, or no sandbox serves.
    """
    flags: dict[str, object] = {}
    if arguments.sandbox:
        flags["sandbox_mode"] = arguments.sandbox
    if arguments.backend:
        flags["sandbox_backend"] = arguments.backend
    if arguments.permission_profile:
        flags["default_permissions"] = arguments.permission_profile
    config = host.config(
        ConfigRequest(cwd, profile=arguments.profile, overrides=arguments.config, flags=flags)
    )
    context = PluginContext(
        host.home,
        config.values,
        cwd,
        environ=host.environ,
        project_root=config.project_root,
        is_trusted=config.is_trusted,
        warn=warn,
    )
    manager = _manager(cast("LocalHost", host), context)
    book = _recipes(manager, context)
    wanted = mode_to_policy(config.values, None)
    policy = book.opened(
        resolve_policy(
            wanted,
            cwd,
            environ=host.environ,
            home=host.home,
            extra_roots=[os.path.join(cwd, root) for root in arguments.add_dir],
            deny_read=arguments.deny_read,
            config=config.values,
        )
    )
    name = str(config.values.get("sandbox_backend") or "auto")
    environment = command_environment(config.values, host.environ, sandbox=wanted)
    if not policy.network:
        environment |= dict.fromkeys(NETWORK_OFF, "1")
    return Confinement(
        choose_backend(manager, name, context, policy, warn),
        policy,
        book.environment(policy, environment),
        context,
        manager,
        book,
        tuple(cast("Sequence[str]", wanted.get("networkRules", ()))),
    )


def _manager(host: LocalHost, context: PluginContext) -> PluginManager:
    from ferrule.manager import PluginManager

    return PluginManager(host.index, context.config, report=context.warn)


def _recipes(manager: PluginManager, context: PluginContext) -> RecipeBook:
    """Find the recipes; an event loop is started only where the configuration names any."""
    if not context.config.get("sandbox_recipes"):
        return RecipeBook((), context)
    import anyio

    return anyio.run(configured_recipes, manager.hooks, context)


class _ThreadDoor:
    """A door whose end is told to the thread that holds it; satisfies `OpenDoor`."""

    def __init__(self, opened: OpenDoor, portal: BlockingPortal) -> None:
        self.door = opened.door
        self.environment = opened.environment
        self._opened = opened
        self._portal = portal

    def close(self) -> None:
        self._portal.call(self._opened.close)


class _ThreadRuntime:
    """What a managed network runs in beside one command; satisfies `Runtime`."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group

    def start(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        """Run something until the command has ended."""

        async def run() -> None:
            await function()

        self._group.start_soon(run, name=name)

    async def spawn(self, launch: Launch, *, open_stdin: bool = False) -> Process:
        """Refuse: nothing here owns a program."""
        raise SandboxUnavailableError("a managed network that starts programs needs a session")

    def write_config(self, edits: Sequence[ConfigEdit]) -> None:
        """Refuse: nobody has answered anything."""
        raise SandboxUnavailableError("the configuration is not changed from here")
