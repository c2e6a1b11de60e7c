"""The slot driver `container` of `ferrule.sandboxes`."""

from __future__ import annotations

import atexit
import os
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from ferrule_confinement.anchor_script import CONTAINER_ANCHOR
from ferrule_confinement.far_command import command_script
from ferrule_confinement.far_files import FarFiles
from ferrule_confinement.scratch import has_scratch, with_scratch
from ferrule_confinement.stand_in_watchdog import Watchdog
from ferrule_hookspecs.errors import (
    ConfigError,
    FerruleError,
    PolicyUnenforceableError,
    SandboxUnavailableError,
)
from ferrule_hookspecs.evaluator import decide_canonical, unreadable_place
from ferrule_hookspecs.sandbox import Capabilities, Feature, Launch
from ferrule_sandbox_container.container import Container
from ferrule_sandbox_container.control import ControlFolder
from ferrule_sandbox_container.engine import EngineError, find_engine
from ferrule_sandbox_container.settings import Settings, read_settings
from ferrule_sandbox_container.view import SCRATCH, View, make_view

if TYPE_CHECKING:
    from ferrule_confinement.anchor import Anchor
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import (
        Command,
        CommandResult,
        Denial,
        FileSystem,
        ResolvedPolicy,
    )
    from ferrule_sandbox_container.engine import Engine

_ENFORCED: Final[frozenset[Feature]] = frozenset(
    (
        *("filesystem", "protected_paths", "missing_names", "deny_read", "network"),
        *("unix_sockets", "pids", "ipc", "proc_sys", "readable_roots", "metadata"),
    )
)


class ContainerBackend:
    """Confines commands in a container; satisfies `SandboxBackend`."""

    name = "container"

    def __init__(self, context: PluginContext) -> None:
        """Keep the context; nothing is started before the first command."""
        self._context = context
        self._settings: Settings | None = None
        self._engine: Engine | None = None
        self._fault = ""
        self._control: ControlFolder | None = None
        self._containers: list[Container] = []
        self._watchdog = Watchdog()
        self._numbers = count(1)

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        engine = self._examined()
        if engine is None:
            return Capabilities(available=False, reason=self._fault)
        enforced = set(_ENFORCED)
        if engine.filters:
            enforced.add("seccomp")
        if engine.bounds:
            enforced.add("resources")
        if self._configured().network == "host":
            enforced.discard("unix_sockets")  # those without a path are of the network
        rights = "rootless" if engine.is_rootless else "with root's rights"
        image = self._configured().image
        reason = f"{engine.version}, {rights}, image {image}"
        return Capabilities(available=True, reason=reason, enforced=frozenset(enforced))

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command, in a container that shows exactly what it may see.

        Raises:
            SandboxUnavailableError: No container can be had that shows exactly that.
            PolicyUnenforceableError: The policy asks for no confinement.
        """
        container = self._container(policy)
        number = str(next(self._numbers))
        control = self._controlled()
        script = control.write(f"{number}.sh", command_script(_with_room(policy, command)))
        container.running.add(number)
        engine = self._needed_engine()
        streams = "-it" if command.tty else "-i"
        run = _Run(self, container, number)
        return Launch(
            argv=engine.call("exec", streams, container.name, "/bin/sh", script),
            env=engine.env,
            cwd="/",
            cleanup=run.cleanup,
            forward_signal=run.forward_signal,
        )

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        from ferrule_confinement import denials

        return denials.classify(policy, result)

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """Files as the container has them: the image's own, and what is shared of this machine."""
        if policy.unconfined:
            return None

        def anchor() -> Anchor:
            return self._container(policy).anchor

        def judge(operation: Literal["read", "write"], path: str) -> Denial | None:
            denial = decide_canonical(policy, operation, path)
            if denial is not None and operation == "read" and not unreadable_place(policy, path):
                return None if not self._view(policy).shows(path) else denial
            return denial

        return FarFiles(policy, anchor, judge)

    async def aclose(self) -> None:
        """End the containers."""
        self.close()

    def close(self) -> None:
        """Do what `aclose` does where no event loop runs."""
        atexit.unregister(self.close)
        while self._containers:
            self._containers.pop().close(self._watchdog)
        if self._control is not None:
            self._control.close()
            self._control = None
        self._watchdog.close()

    def ended(self, container: Container, number: str) -> None:
        """End what is left of a command, and a container that serves no later one.

        Raises:
            SandboxUnavailableError: Something protected was changed during the run.
        """
        if self._control is not None:
            self._control.remove(f"{number}.sh")  # what has not begun by now never will
        container.end(number)
        changed = container.tampered()
        self._retire()
        if changed:
            raise SandboxUnavailableError(
                f"{', '.join(changed)}: the protection was removed while the command ran;"
                " look at what is there now before you trust it"
            )

    def _retire(self, current: Container | None = None) -> None:
        """Close what is idle and was replaced; the latest stays for the next command."""
        latest = current or (self._containers[-1] if self._containers else None)
        for container in list(self._containers):
            if container is not latest and not container.running:
                self._containers.remove(container)
                container.close(self._watchdog)

    def _container(self, policy: ResolvedPolicy) -> Container:
        if policy.unconfined:
            raise PolicyUnenforceableError(
                "the container sandbox confines every command; use the sandbox backend 'none'"
                f" for {policy.mode}"
            )
        engine = self._needed_engine()
        view = self._view(policy)
        for container in reversed(self._containers):
            if container.serves(view):
                return container
        container = Container(engine, self._configured(), view, self._controlled())
        container.start(self._watchdog)
        self._containers.append(container)
        self._retire(container)
        return container

    def _view(self, policy: ResolvedPolicy) -> View:
        context = self._context
        folders = [policy.cwd]
        folders += [folder for folder in (context.cwd, context.project_root) if folder]
        return make_view(policy, folders, self._configured().mounts, context.environ)

    def _configured(self) -> Settings:
        if self._settings is None:
            self._settings = read_settings(self._context.table("sandboxes", self.name))
        return self._settings

    def _examined(self) -> Engine | None:
        if self._engine is None and not self._fault:
            workspace = os.path.realpath(self._context.cwd or "/")
            try:
                self._engine = find_engine(self._configured(), self._context.environ, workspace)
            except (EngineError, ConfigError) as error:
                self._fault = str(error)
        return self._engine

    def _needed_engine(self) -> Engine:
        engine = self._examined()
        if engine is None:
            raise SandboxUnavailableError(self._fault)
        return engine

    def _controlled(self) -> ControlFolder:
        if self._control is None:
            atexit.register(self.close)  # for a kernel that ends without closing its backends
            self._control = ControlFolder(self._context.home, CONTAINER_ANCHOR)
        return self._control


class _Run:
    """One command in a container."""

    def __init__(self, backend: ContainerBackend, container: Container, number: str) -> None:
        self._backend = backend
        self._container = container
        self._number = number

    def forward_signal(self, pid: int, number: int) -> bool:
        """Send a signal to the command's process group; tells whether it was there."""
        try:
            self._container.anchor.ask("signal", self._number, str(number))
        except (OSError, FerruleError):
            return False
        return True

    def cleanup(self) -> None:
        """End what the command left behind."""
        self._backend.ended(self._container, self._number)


def _with_room(policy: ResolvedPolicy, command: Command) -> Command:
    if has_scratch(policy, command.env, SCRATCH):
        return command
    return command._replace(env=with_scratch(command.env, SCRATCH))
