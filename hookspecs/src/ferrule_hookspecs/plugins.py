"""What every plugin object is constructed with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from ferrule_hookspecs.events import Event
    from ferrule_hookspecs.host import ConfigEdit
    from ferrule_hookspecs.sandbox import Launch
    from ferrule_hookspecs.services import SessionServices
    from ferrule_hookspecs.tools import Process


class Runtime(Protocol):
    """What a running kernel keeps for plugins whose programs outlive a call: as long as itself."""

    async def spawn(self, launch: Launch, *, open_stdin: bool = False) -> Process:
        """Start a program that ends with the kernel at the latest, however that ends.

        Its standard error is read by `Process.read_stderr`.

        Raises:
            OSError: It could not be started.
        """
        ...

    def start(self, function: Callable[[], Awaitable[None]], name: str) -> None:
        """Run something in the background until it ends; it is cancelled with the kernel.

        What it raises is reported under `name` and ends nothing else.
        """
        ...

    def write_config(self, edits: Sequence[ConfigEdit]) -> None:
        """Change the user's configuration file: all edits or none; comments and order stay.

        Raises:
            ConfigError: The configuration would be invalid.
        """
        ...


def _ignore(message: str) -> None:
    """Warn nobody: outside of a session there is nobody to warn."""


def _unheard(event: Event) -> None:
    """Tell nobody: outside of a session there are no clients."""


class PluginContext(NamedTuple):
    """What a tool, a slot driver or a hook may know about the session it serves.

    Attributes:
        home: `$FERRULE_HOME`.
        config: The whole effective configuration, read-only; keys as in `config.toml`.
        cwd: Absolute working directory of the session.
        thread_id: The thread, or an empty string outside of one.
        environ: The kernel's own environment, unfiltered; never hand it to a command.
        settings: The table that configures this plugin, such as one of `model_providers`.
        project_root: Root of the project, or an empty string where it is not known.
        is_trusted: Whether the user trusts the project; what lies in one that is not trusted may
            only narrow what is allowed.
        admin: The administrator's folder.
        warn: Tells whoever uses the session one sentence; outside of one it does nothing.
        thread_file: The file the thread is written to; empty where there is none.
        name: With reviewers: what it was asked for as, such as `command:lint`.
        emit: Tells the session's clients something; outside of one it does nothing.
        runtime: Keeps programs and background work; None where no kernel runs.
        services: Asks a model, reads files, calls tools; None outside of a session.
        role: What the thread is for, where it works for another one; see `ChildOptions`.
    """

    home: Path
    config: Mapping[str, object]
    cwd: str = ""
    thread_id: str = ""
    environ: Mapping[str, str] = MappingProxyType({})
    settings: Mapping[str, object] = MappingProxyType({})
    project_root: str = ""
    is_trusted: bool = False
    admin: Path = Path("/etc/ferrule")
    warn: Callable[[str], None] = _ignore
    thread_file: str = ""
    name: str = ""
    emit: Callable[[Event], None] = _unheard
    runtime: Runtime | None = None
    services: SessionServices | None = None
    role: str = ""

    def table(self, *keys: str) -> Mapping[str, object]:
        """Return a nested table of the configuration, empty where there is none."""
        value: object = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
