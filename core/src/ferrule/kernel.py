"""A running kernel: what every session shares. Satisfies the contract's `Kernel`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ferrule.attempt import BoundSandbox
from ferrule.backend_choice import choose_backend
from ferrule.index import load_index
from ferrule.manager import PluginManager
from ferrule.policy import mode_to_policy, resolve_policy
from ferrule.processes import ProcessOwner
from ferrule.thread_service import ThreadService
from ferrule_hookspecs.plugins import PluginContext

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ferrule_hookspecs.host import Config, ConfigRequest, Threads
    from ferrule_hookspecs.policies import SandboxMode
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_hookspecs.tools import SandboxSession


class LocalKernel:
    """The kernel of one process."""

    def __init__(self, home: Path, environ: Mapping[str, str], group: TaskGroup) -> None:
        self.home = home
        self.environ = environ
        self.group = group
        self.owner = ProcessOwner()
        self._service = ThreadService(self)
        self._store: ThreadStore | None = None

    @property
    def threads(self) -> Threads:
        """Opens and keeps threads."""
        return self._service

    def config(self, request: ConfigRequest) -> Config:
        """Read the configuration."""
        from ferrule.config import load_config

        return load_config(request, home=self.home, environ=self.environ)

    def manager(
        self, values: Mapping[str, object], *, report: Callable[[str], None]
    ) -> PluginManager:
        """Return a plugin manager for a configuration."""
        return PluginManager(load_index(self.environ), values, report=report)

    def store(self, values: Mapping[str, object]) -> ThreadStore:
        """Return the configured store; the first configuration that is asked for decides."""
        if self._store is None:
            context = PluginContext(self.home, values, environ=self.environ)
            manager = self.manager(values, report=lambda _: None)
            name = str(values.get("store") or "jsonl")
            self._store = cast("ThreadStore", manager.driver("ferrule.stores", name, context))
        return self._store

    def sandbox(
        self,
        config: Config,
        cwd: str,
        *,
        mode: SandboxMode | None = None,
        backend: str | None = None,
        extra_roots: Sequence[str] = (),
    ) -> SandboxSession:
        """Open the chosen sandbox for commands outside of any thread."""
        values = dict(config.values)
        if mode is not None:
            values["sandbox_mode"] = mode
        if backend is not None:
            values["sandbox_backend"] = backend
        context = PluginContext(self.home, values, cwd, environ=self.environ)
        manager = self.manager(values, report=lambda _: None)
        policy = resolve_policy(
            mode_to_policy(values, mode),
            cwd,
            environ=self.environ,
            home=self.home,
            extra_roots=extra_roots,
        )
        return BoundSandbox(choose_backend(manager, values, context), policy, self.owner)

    async def aclose(self) -> None:
        """Close every session and end every child."""
        await self._service.aclose()
        await self.owner.aclose()
