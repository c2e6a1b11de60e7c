"""A running kernel: what every session shares. Satisfies the contract's `Kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ferrule.attempt import BoundSandbox
from ferrule.environment import command_environment
from ferrule.generations import Generations
from ferrule.model_facts import known_models
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule.processes import ProcessOwner
from ferrule.recent import Recent
from ferrule.ruling import ruled
from ferrule.runtime import LocalRuntime
from ferrule.thread_service import ThreadService
from ferrule.way_out import Origin, WayOut
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.slots import HOOK_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from ferrule.detached import Detached
    from ferrule.host import LocalHost
    from ferrule.manager import PluginManager
    from ferrule_hookspecs.host import (
        Assessment,
        Config,
        ConfigEdit,
        ConfigRequest,
        ProfileFacts,
        Threads,
    )
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.policies import SandboxMode, SandboxPolicy
    from ferrule_hookspecs.review import Reviewer
    from ferrule_hookspecs.ruling import Case, Ruling
    from ferrule_hookspecs.sandbox import SandboxBackend
    from ferrule_hookspecs.serving import RpcMethod, ServerDriver, Transport
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_hookspecs.tools import SandboxSession, ToolCall, TurnInfo


_KEPT: Final = 32


class LocalKernel:
    """The kernel of one process."""

    def __init__(
        self, host: LocalHost, group: TaskGroup, owner: ProcessOwner | None = None
    ) -> None:
        self.home = host.home
        self.environ = host.environ
        self._host = host
        self.group = group
        self.owner = owner or ProcessOwner()
        self.runtime = LocalRuntime(self, self._report)
        self._service = ThreadService(self)
        self.threads: Threads = self._service
        self._store: ThreadStore | None = None
        self._configs: Recent[tuple[str, Config], Config] = Recent(_KEPT)
        self.generations = Generations(host, self._report)
        self._backends: dict[tuple[str, bool, frozenset[str]], SandboxBackend] = {}
        self._detached: list[Detached] = []
        self._ways_out: list[tuple[Config, WayOut]] = []
        self._unheard: list[str] = []
        self._listeners: list[Callable[[str], None]] = []

    def config(self, request: ConfigRequest) -> Config:
        """Read the configuration."""
        loaded = self._host.read(request)
        key = loaded.project_root, loaded  # what differs most is compared first
        return self._configs.get(key, lambda: loaded)

    def write_config(
        self,
        request: ConfigRequest,
        edits: Sequence[ConfigEdit],
        *,
        expected_version: str | None = None,
    ) -> Config:
        """Change the user's configuration file: all edits or none."""
        from ferrule.config.write import write_config

        return write_config(
            self.home / "config.toml",
            edits,
            lambda before, after: self._host.read_edited(request, before, after),
            expected_version=expected_version,
        )

    def environment(
        self,
        config: Config,
        extra: Mapping[str, str] | None = None,
        *,
        policy: SandboxPolicy | None = None,
    ) -> dict[str, str]:
        """The environment for a command outside of any thread."""
        from ferrule.turn_settings import known_policy

        configured = mode_to_policy(config.values, None)
        sandbox = configured if policy is None else known_policy(policy, config.values)
        return command_environment(config.values, self.environ, extra, sandbox)

    def manager(self, values: Mapping[str, object]) -> PluginManager:
        """Return the plugin manager of a configuration."""
        return self.generations.manager(values)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Tell a session about plugin faults, those that nobody has heard of included."""
        self._listeners.append(listener)
        while self._unheard:
            listener(self._unheard.pop(0))

    def unlisten(self, listener: Callable[[str], None]) -> None:
        """Tell a session nothing any more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _report(self, fault: str) -> None:
        for listener in self._listeners:
            listener(fault)
        if not self._listeners:
            self._unheard.append(fault)

    def store(self, values: Mapping[str, object]) -> ThreadStore:
        """Return the configured store; the first configuration that is asked for decides."""
        if self._store is None:
            context = PluginContext(self.home, values, environ=self.environ)
            manager = self.manager(values)
            name = str(values.get("store") or "jsonl")
            self._store = cast("ThreadStore", manager.driver("ferrule.stores", name, context))
            self.generations.pin(manager.entry("ferrule.stores", name), "it keeps the threads")
        return self._store

    def sandbox(
        self,
        config: Config,
        cwd: str,
        *,
        mode: SandboxMode | None = None,
        policy: SandboxPolicy | None = None,
        backend: str | None = None,
        extra_roots: Sequence[str] = (),
    ) -> SandboxSession:
        """Open the chosen sandbox for commands outside of any thread.

        Raises:
            ConfigError: The administrator does not allow the mode or the backend.
        """
        from ferrule.backend_choice import choose_backend, needed_features
        from ferrule.turn_settings import check_allowed, check_sandbox_allowed, known_policy

        name = backend or str(config.values.get("sandbox_backend") or "auto")
        if policy is not None:
            policy = known_policy(policy, config.values)
        elif mode is not None:
            policy = mode_to_policy(config.values, mode)
        if policy is not None:
            check_sandbox_allowed(policy, config.allowed)
        if backend is not None:
            check_allowed("sandbox_backend", backend, config.allowed)
        resolved = resolve_policy(
            policy or mode_to_policy(config.values, None),
            cwd,
            environ=self.environ,
            home=self.home,
            extra_roots=extra_roots,
            config=config.values,
        )
        key = (name, resolved.unconfined, needed_features(resolved))
        if key not in self._backends:
            context = PluginContext(self.home, config.values, cwd, environ=self.environ)
            manager = self.manager(config.values)
            self._backends[key] = choose_backend(manager, name, context, resolved, self._report)
        way_out = self._way_out(config, cwd)
        sandbox = BoundSandbox(self._backends[key], resolved, self.owner, way_out)
        sandbox.origin = Origin()
        return sandbox

    def _way_out(self, config: Config, cwd: str) -> WayOut:
        """The managed network of commands outside of any thread, one for each configuration."""
        for known, way_out in self._ways_out:
            if known is config:
                return way_out
        context = PluginContext(
            self.home,
            config.values,
            cwd,
            environ=self.environ,
            project_root=config.project_root,
            is_trusted=config.is_trusted,
            warn=self._report,
            runtime=self.runtime,
        )
        made = WayOut(lambda: self.manager(config.values).hooks, context, self._report)
        self._ways_out.append((config, made))
        return made

    def permission_profiles(self, config: Config) -> list[ProfileFacts]:
        """List the permission profiles of a configuration, the built-in ones first."""
        from ferrule.turn_settings import list_profiles

        return list_profiles(config)

    async def models(self, config: Config) -> list[ModelInfo]:
        """Gather what plugins know about models, sorted by provider and name."""
        context = PluginContext(self.home, config.values, environ=self.environ)
        found = await known_models(self.manager(config.values).hooks, context)
        return sorted(found, key=lambda info: (info.provider, info.name))

    async def assess(self, config: Config, call: ToolCall, turn: TurnInfo) -> Assessment:
        """Judge a call outside of any session; nothing runs."""
        return await self._judges(config, turn.cwd).assess(call, turn)

    def rule(self, case: Case) -> Ruling:
        """Say what opinions come to, as it is done for calls that are about to run."""
        return ruled(case)

    def reviewers(self, config: Config) -> list[str]:
        """List the reviewers that may be used."""
        return self.manager(config.values).names("ferrule.reviewers")

    def reviewer(self, config: Config, name: str, cwd: str) -> Reviewer:
        """Return a reviewer for questions outside of any session."""
        return self._judges(config, cwd).reviewer(name)

    def transport(self, config: Config, name: str) -> Transport:
        """Return a transport."""
        return cast("Transport", self._driver("transports", config, name))

    def server(self, config: Config, name: str) -> ServerDriver:
        """Return the driver of a server."""
        return cast("ServerDriver", self._driver("servers", config, name))

    def _driver(self, slot: str, config: Config, name: str) -> object:
        """Make a driver whose settings are the table of its slot and name."""
        settings = cast("Mapping[str, object]", config.get(f"{slot}.{name}", {}))
        context = PluginContext(
            self.home, config.values, environ=self.environ, settings=settings, name=name
        )
        manager = self.manager(config.values)
        made = manager.driver(f"ferrule.{slot}", name, context)
        self.generations.pin(manager.entry(f"ferrule.{slot}", name), "it carries the connections")
        return made

    async def rpc_methods(self, config: Config) -> list[RpcMethod]:
        """Gather the methods that plugins add to servers; of namesakes the first is kept."""
        context = PluginContext(
            self.home, config.values, environ=self.environ, runtime=self.runtime
        )
        manager = self.manager(config.values)
        answers = await manager.hooks.gather("ferrule_rpc_methods", context=context)
        methods: dict[str, RpcMethod] = {}
        for plugin, offered in answers:
            entry = manager.entry(HOOK_GROUP, plugin)
            for method in cast("Sequence[RpcMethod]", offered):
                if method.name in methods:
                    self._report(f"{plugin}: the method {method.name} is taken already; left out")
                methods.setdefault(method.name, manager.settings.held(entry, method))
        return list(methods.values())

    def _judges(self, config: Config, cwd: str) -> Detached:
        """The judges of a configuration, made once."""
        for known in reversed(self._detached):
            if known.config is config and known.cwd == cwd:
                known.use(self.manager(config.values))
                return known
        from ferrule.detached import Detached

        self._detached.append(Detached(self, config, cwd))
        return self._detached[-1]

    async def aclose(self) -> None:
        """Close every session and end every child."""
        await self._service.aclose()
        for judges in self._detached:
            await judges.aclose()
        await self.owner.aclose()
        for _, way_out in self._ways_out:
            await way_out.aclose()
        for backend in self._backends.values():
            await backend.aclose()
