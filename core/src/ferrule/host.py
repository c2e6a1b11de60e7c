"""The `ferrule` command as its sub-commands see it. Satisfies the contract's `Host`.

`run` is the only place where an event loop is started: it owns the signals, and no way out of it
leaves a child behind.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from ferrule import __version__
from ferrule_hookspecs.errors import InterruptedByUserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import anyio

    from ferrule.config.provenance import LoadedConfig
    from ferrule.index import Index
    from ferrule.kernel import LocalKernel
    from ferrule_hookspecs.host import Config, ConfigRequest, InstalledSandbox, Kernel
    from ferrule_hookspecs.sandbox import SandboxBackend

T = TypeVar("T")
_START_S: Final = 1.0


class LocalHost:
    """The host of this process.

    Attributes:
        admin: The administrator's folder.
    """

    admin: Path = Path("/etc/ferrule")

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self.home = home
        self.version = __version__
        self.environ = environ

    @cached_property
    def index(self) -> Index:
        """What is installed; read once."""
        return self.read_index()

    def read_index(self) -> Index:
        """Read what is installed now."""
        from ferrule.index import load_index

        return load_index(self.environ)

    def config(self, request: ConfigRequest) -> Config:
        """Read the configuration without starting a kernel."""
        return self.read(request)

    def read(self, request: ConfigRequest, user_text: str | None = None) -> LoadedConfig:
        """Read the configuration, as if the user's file said `user_text` where that is given."""
        from ferrule.config.load import Places, read_config
        from ferrule.plugin_config import with_plugins

        places = Places(self.home, self.environ, self.admin, user_text)
        loaded = with_plugins(
            lambda keys: read_config(request, places._replace(project_keys=keys)),
            self.index,
            strict=request.strict,
        )
        loaded.request = request
        return loaded

    def read_edited(self, request: ConfigRequest, before: str, after: str) -> LoadedConfig:
        """Read the configuration as it would be if the user's file were changed.

        Raises:
            ConfigError: It could not be used; tables of plugins that would change are looked at.
        """
        from ferrule.config.layers import parse_toml
        from ferrule.config.tables import SETTINGS_PATH, table_at
        from ferrule.plugin_config import check_tables

        config = self.read(request, after)
        old, new = (table_at(parse_toml(text, ""), *SETTINGS_PATH) for text in (before, after))
        changed = [name for name, table in new.items() if table != old.get(name)]
        check_tables(config, self.index, changed)
        return config

    def sandbox(self, config: Config, name: str, cwd: str) -> InstalledSandbox:
        """Return a sandbox backend by name, whatever it enforces; the caller closes it."""
        from ferrule.manager import PluginManager
        from ferrule_hookspecs.host import InstalledSandbox
        from ferrule_hookspecs.plugins import PluginContext

        manager = PluginManager(self.index, config.values, report=_warn)
        context = PluginContext(self.home, config.values, cwd, environ=self.environ, warn=_warn)
        backend = cast("SandboxBackend", manager.driver("ferrule.sandboxes", name, context))
        entry = manager.entry("ferrule.sandboxes", name)
        return InstalledSandbox(backend, entry.distribution, entry.version)

    def taken_names(self, group: str) -> Mapping[str, str]:
        """Return the names of a group that are installed or reserved, with their distributions."""
        from ferrule.catalog import CATALOG

        installed = [entry for entry in self.index.all_entries() if entry.group == group]
        return {entry.name: entry.distribution for entry in installed} | CATALOG.get(group, {})

    def at(self, home: Path) -> LocalHost:
        """Return the same host with another home."""
        return LocalHost(home, {**self.environ, "FERRULE_HOME": str(home)})

    def invoke(self, command: str, argv: Sequence[str]) -> int:
        """Run another sub-command in this process; returns its exit code."""
        from ferrule.cli import invoke

        return invoke(self, command, argv)

    def run(self, main: Callable[[Kernel], Awaitable[T]]) -> T:
        """Start a kernel, run `main`, and leave nothing behind.

        Raises:
            InterruptedByUserError: A signal ended it and `main` gave no result.
        """
        import anyio

        outcome = _Outcome[T]()
        anyio.run(self._serve, main, outcome)
        return outcome.get()

    async def _serve(self, main: Callable[[Kernel], Awaitable[T]], outcome: _Outcome[T]) -> None:
        import anyio

        from ferrule.kernel import LocalKernel

        async with anyio.create_task_group() as group:
            kernel = LocalKernel(self, group)
            with anyio.CancelScope() as scope:
                group.start_soon(_watch_signals, scope, kernel, outcome)
                group.start_soon(_collect_later)
                try:
                    outcome.result.append(await main(kernel))
                except Exception as error:  # noqa: BLE001 -- raised again outside of the group
                    outcome.error = error
                finally:
                    with anyio.CancelScope(shield=True):
                        await kernel.aclose()
            group.cancel_scope.cancel()


class _Outcome(Generic[T]):
    """How `main` ended; carried out of the task group so that errors come out bare."""

    def __init__(self) -> None:
        self.result: list[T] = []
        self.error: Exception | None = None
        self.signal = 0

    def get(self) -> T:
        """Return the result or raise what was raised."""
        if self.error is not None:
            raise self.error
        if not self.result:
            raise InterruptedByUserError(self.signal)
        return self.result[0]


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")


async def _collect_later() -> None:
    """Let the garbage collector in once the start is over, past all that stays for good."""
    import anyio

    await anyio.sleep(_START_S)
    gc.freeze()
    gc.enable()


async def _watch_signals(
    scope: anyio.CancelScope, kernel: LocalKernel, outcome: _Outcome[T]
) -> None:
    """Cancel the work on the first signal; end at once, children included, on the second."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async for number in signals:
            if outcome.signal:
                kernel.owner.kill_all()
                os._exit(128 + number)
            outcome.signal = number
            scope.cancel()
