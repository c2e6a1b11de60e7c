"""What the kernel offers to front ends and commands.

A command receives a `Host`. Work that needs a running kernel (threads, tools, processes) goes
through `Host.run`, which owns the event loop, the signals and every child process.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from ferrule_hookspecs.events import Outgoing
    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.models import ModelInfo
    from ferrule_hookspecs.ops import Op
    from ferrule_hookspecs.plugins import PluginContext, Runtime
    from ferrule_hookspecs.policies import ApprovalPolicy, SandboxMode, SandboxPolicy
    from ferrule_hookspecs.review import Reviewer, Verdict
    from ferrule_hookspecs.ruling import Case, Ruling
    from ferrule_hookspecs.sandbox import SandboxBackend
    from ferrule_hookspecs.serving import RpcMethod, ServerDriver, Transport
    from ferrule_hookspecs.store import ThreadStore
    from ferrule_hookspecs.threads import Thread, Turn
    from ferrule_hookspecs.tools import SandboxSession, Tool, ToolCall, TurnInfo

T = TypeVar("T")


class ConfigRequest(NamedTuple):
    """How a command wants the configuration to be read.

    Attributes:
        cwd: Absolute working directory; decides which project files count.
        profile: Name of a profile file; unknown ones are errors.
        overrides: `key=value` texts of `-c`, later ones win.
        flags: Values of dedicated flags by dotted key; they beat `overrides`.
        strict: Unknown keys are errors rather than warnings.
        ignore_user: Leave the user's file out.
        trust_project: Treat the project as trusted for this run and remember it.
    """

    cwd: str
    profile: str | None = None
    overrides: Sequence[str] = ()
    flags: Mapping[str, object] = MappingProxyType({})
    strict: bool = False
    ignore_user: bool = False
    trust_project: bool = False


class ConfigOrigin(NamedTuple):
    """Where a value comes from: the layer's name, the file if any, its line if known."""

    layer: str
    file: str | None = None
    line: int | None = None


class ConfigLayer(Protocol):
    """What one source of the configuration says."""

    @property
    def name(self) -> str:
        """What the layer is: defaults, environment, system, user, profile, project, -c …"""
        ...

    @property
    def values(self) -> Mapping[str, object]:
        """What it sets, as tables."""
        ...

    @property
    def file(self) -> str | None:
        """The file it was read from."""
        ...

    @property
    def version(self) -> str:
        """Changes with what it says; what `Kernel.write_config` compares."""
        ...


class ConfigEdit(NamedTuple):
    """One change of the user's configuration file.

    Attributes:
        key: Dotted key, as in config.toml.
        value: The new value; None takes the key out.
        merge: A table is mixed into the one that is there.
    """

    key: str
    value: object
    merge: bool = False


class Config(Protocol):
    """The effective configuration, its warnings, and where every value comes from.

    Attributes:
        values: The values.
        warnings: What the user should know.
        project_root: Root of the project, or the working directory.
        is_trusted: Whether the user trusts the project.
        allowed: By key, the values the administrator allows; what has no entry is free.
    """

    values: Mapping[str, object]
    warnings: Sequence[str]
    project_root: str
    is_trusted: bool
    allowed: Mapping[str, Sequence[str]]

    @property
    def layers(self) -> Sequence[ConfigLayer]:
        """Everything that was read, lowest first."""
        ...

    @property
    def secrets(self) -> Sequence[tuple[str, ...]]:
        """Keys, part by part, whose values are never shown to anybody."""
        ...

    def get(self, key: str, default: object = None) -> object:
        """Return a value by dotted key."""
        ...

    def origin(self, key: str) -> ConfigOrigin:
        """Tell where a value comes from."""
        ...


class ThreadOptions(NamedTuple):
    """How a session is opened.

    Attributes:
        config: The effective configuration; it decides model, policies and plugins.
        cwd: Absolute working directory.
        source: The front end: exec, cli, appServer, mcp …
        ephemeral: Store nothing.
        can_answer: Whether this client answers questions of the session.
        extra_roots: More folders that may be written in workspace-write mode.
        base_instructions: Replaces the built-in base prompt.
        parent_thread_id: The thread that starts this one as a subagent.
        name: A name to find the thread by.
        developer_instructions: Put before the model behind the base prompt.
        tools: Makes more tools for this session, such as those that its client runs.
        wants_diff: Whether `turn/diff/updated` is worth its cost.
        inherits: With resume and fork: model, effort, summary, policies, reviewer and service tier
            are as the thread was left, except those that a flag of the configuration sets; what it
            has used is told again.
        keep_turns: With fork: how many turns to begin with; None takes over all.
        on_child: Told of every thread that works for this one, directly or not, before its first
            turn. Its `events()` are then the client's, and hold its questions. Without it they are
            put on this session's events, with the child's thread id, and answered here.
    """

    config: Config
    cwd: str
    source: str = "exec"
    ephemeral: bool = False
    can_answer: bool = False
    extra_roots: Sequence[str] = ()
    base_instructions: str | None = None
    parent_thread_id: str | None = None
    name: str | None = None
    developer_instructions: str | None = None
    tools: Callable[[PluginContext], Sequence[Tool]] | None = None
    wants_diff: bool = False
    inherits: bool = False
    keep_turns: int | None = None
    on_child: Callable[[Session], None] | None = None


class SessionFacts(NamedTuple):
    """What holds for the turns of a session that start from now on."""

    model: str
    model_provider: str
    approval_policy: ApprovalPolicy
    sandbox_mode: SandboxMode
    sandbox_policy: SandboxPolicy
    writable_roots: Sequence[str]
    reviewer: str
    reasoning_effort: str | None
    reasoning_summary: str | None
    cwd: str = ""
    service_tier: str | None = None
    instruction_sources: Sequence[str] = ()


class Session(Protocol):
    """One open thread: operations go in, events come out."""

    thread: Thread

    @property
    def facts(self) -> SessionFacts:
        """What holds from now on."""
        ...

    async def submit(self, op: Op) -> None:
        """Queue an operation; waits while the queue is full. A refusal becomes a warning."""
        ...

    async def perform(self, op: Op) -> Mapping[str, str]:
        """Queue an operation and wait until it is taken.

        Returns:
            `turnId` of the turn that `turn/start`, `turn/steer`, `thread/compact/start`,
            `review/start` or `thread/shellCommand` began or joined; nothing for the others.

        Raises:
            FerruleError: It is refused: there is no such turn or question, a value is not allowed.
        """
        ...

    def events(self) -> AsyncIterator[Outgoing]:
        """Read events and questions in order; ends after `thread/closed`."""
        ...

    async def close(self) -> None:
        """Interrupt what runs, write everything, end every child, give back the lock."""
        ...


class Threads(Protocol):
    """Opens and keeps threads."""

    @property
    def store(self) -> ThreadStore:
        """Where threads are kept."""
        ...

    async def start(self, options: ThreadOptions) -> Session:
        """Open a new thread."""
        ...

    async def resume(self, thread_id: str, options: ThreadOptions) -> Session:
        """Continue a stored thread."""
        ...

    async def fork(self, thread_id: str, options: ThreadOptions) -> Session:
        """Open a new thread that begins with a copy of a stored one."""
        ...

    def history(self, thread_id: str) -> Sequence[HistoryItem]:
        """Read the model's side of a stored thread."""
        ...

    def turns(self, thread_id: str) -> Sequence[Turn]:
        """Read the turns of a stored thread with their items, oldest first.

        What an open session has acknowledged is among them. Raises `ThreadNotFoundError`.
        """
        ...


class Assessment(NamedTuple):
    """What is thought of a call that will not run.

    Attributes:
        verdicts: Opinions of the assessing plugins that may be asked, by plugin name.
        left_out: Assessing plugins that were not asked, as they are not marked `replayable`.
        is_read_only: Whether the call's tool never changes anything.
        notices: What the plugins said the user should know.
    """

    verdicts: Mapping[str, Verdict]
    left_out: Sequence[str] = ()
    is_read_only: bool = False
    notices: Sequence[str] = ()


class ProfileFacts(NamedTuple):
    """A permission profile that can be chosen by its name.

    Attributes:
        id: Its name; those of the built-in ones begin with a colon.
        description: What it is for.
        extends: The profile it builds on.
        is_allowed: Whether the administrator allows it.
    """

    id: str
    description: str | None = None
    extends: str | None = None
    is_allowed: bool = True


class Kernel(Protocol):
    """A running kernel.

    Attributes:
        home: `$FERRULE_HOME`.
        threads: Opens and keeps threads.
    """

    home: Path
    threads: Threads

    @property
    def runtime(self) -> Runtime:
        """Keeps programs and background work of plugins."""
        ...

    def config(self, request: ConfigRequest) -> Config:
        """Read the configuration."""
        ...

    def write_config(
        self,
        request: ConfigRequest,
        edits: Sequence[ConfigEdit],
        *,
        expected_version: str | None = None,
    ) -> Config:
        """Change the user's configuration file: all edits or none; comments and order stay.

        Returns:
            The configuration as it is from now on.

        Raises:
            ConfigConflictError: The file's version is not the expected one.
            ConfigError: The configuration would be invalid, or ask for what the administrator does
                not allow.
        """
        ...

    def environment(
        self,
        config: Config,
        extra: Mapping[str, str] | None = None,
        *,
        policy: SandboxPolicy | None = None,
    ) -> dict[str, str]:
        """The environment for a command, `extra` merged in and the environment policy applied.

        A permission profile has a part in it: that of `policy`, or the configured one.
        """
        ...

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

        `policy` or `mode` stand for the configured one, where the administrator allows them.
        """
        ...

    def permission_profiles(self, config: Config) -> Sequence[ProfileFacts]:
        """List the permission profiles of a configuration, the built-in ones first."""
        ...

    async def models(self, config: Config) -> Sequence[ModelInfo]:
        """Gather what plugins know about models, sorted by provider and name."""
        ...

    async def assess(self, config: Config, call: ToolCall, turn: TurnInfo) -> Assessment:
        """Judge a call outside of any session, by the hook `ferrule_tool_before`.

        Nothing runs: only implementations marked `replayable` are asked.
        """
        ...

    def rule(self, case: Case) -> Ruling:
        """Say what opinions come to, as it is done for calls that are about to run."""
        ...

    def reviewers(self, config: Config) -> Sequence[str]:
        """List the reviewers that may be used."""
        ...

    def reviewer(self, config: Config, name: str, cwd: str) -> Reviewer:
        """Return a reviewer for questions outside of any session.

        Where the `ReviewContext` it is asked with brings no model provider and no other reviewers,
        it is given those of the configuration; the kernel closes them.

        Raises:
            FerruleError: It is not installed, or cannot work with its settings.
        """
        ...

    def transport(self, config: Config, name: str) -> Transport:
        """Return a transport; raises `PluginError` where it is not installed."""
        ...

    def server(self, config: Config, name: str) -> ServerDriver:
        """Return the driver of a server; raises `PluginError` where it is not installed."""
        ...

    async def rpc_methods(self, config: Config) -> Sequence[RpcMethod]:
        """Gather the methods that plugins add to servers; of namesakes the first is kept."""
        ...


class InstalledSandbox(NamedTuple):
    """A sandbox backend outside of any session, and the distribution that ships it."""

    backend: SandboxBackend
    distribution: str
    version: str


class Host(Protocol):
    """The `ferrule` command as its sub-commands see it.

    Attributes:
        home: `$FERRULE_HOME`.
        version: Version of the kernel.
        environ: The process environment.
    """

    home: Path
    version: str
    environ: Mapping[str, str]

    def config(self, request: ConfigRequest) -> Config:
        """Read the configuration without starting a kernel; raises `ConfigError`."""
        ...

    def sandbox(self, config: Config, name: str, cwd: str) -> InstalledSandbox:
        """Return a sandbox backend by name, whatever it enforces; the caller closes it.

        Raises:
            FerruleError: It is not installed, or cannot be made.
        """
        ...

    def run(self, main: Callable[[Kernel], Awaitable[T]]) -> T:
        """Start a kernel, run `main`, and leave no child, descriptor or temp folder behind.

        SIGINT and SIGTERM cancel `main`; the kernel waits for it to finish cleaning up.
        """
        ...

    def taken_names(self, group: str) -> Mapping[str, str]:
        """Return the names of an entry-point group that are installed or reserved.

        Their values are the distributions they belong to.
        """
        ...

    def at(self, home: Path) -> Host:
        """Return the same host with another home."""
        ...

    def invoke(self, command: str, argv: Sequence[str]) -> int:
        """Run another sub-command in this process; returns its exit code."""
        ...


class RawCommand(Protocol):
    """A sub-command that parses its own arguments, for start-up time.

    Group `ferrule.commands` takes an object of this kind or a Typer app; a Typer app finds the
    `Host` in `typer.Context.obj`.

    Attributes:
        help: One line for the list of commands.
        options: Option strings, for completion.
    """

    help: str
    options: Sequence[str]

    def main(self, argv: Sequence[str], host: Host) -> int:
        """Run with the arguments after the command's name; returns the exit code."""
        ...
