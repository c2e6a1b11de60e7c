"""Sandboxes: what a policy resolves to, what a backend promises, how a command is launched.

Slot `ferrule.sandboxes`. The kernel resolves a policy once into a `ResolvedPolicy`; a backend turns
it and a command into a `Launch`; the kernel owns the process. What a backend cannot enforce it
declares, and the kernel then refuses policies that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

Feature = Literal[
    "filesystem",
    "protected_paths",
    "missing_names",
    "deny_read",
    "network",
    "unix_sockets",
    "pids",
    "ipc",
    "seccomp",
    "proc_sys",
    "resources",
    "readable_roots",
    "door",
    "metadata",
]
"""What a backend may enforce.

filesystem: writes only below writable roots. protected_paths: read-only places inside them.
missing_names: protected names that do not exist cannot be created. deny_read: unreadable paths.
network: no way out when off. unix_sockets: host sockets out of reach. pids, ipc: own namespaces.
seccomp: dangerous system calls refused. proc_sys: kernel settings read-only, for root too.
resources: bounds on processes and memory. readable_roots: nothing else can be read. door: with the
network off, a command's `Door` is in reach. metadata: permissions, owners and times of files
outside of writable roots stay.
"""


class WritableRoot(NamedTuple):
    """A folder that may be written, except for what is protected inside it.

    Attributes:
        path: Absolute, canonical.
        read_only: Existing paths below it that stay read-only, absolute. A symbolic link among
            them must stay the link it is; where it leads is listed on its own.
        forbidden: Missing paths below it that must not come into being, absolute. An empty folder
            of such a name counts as missing.
        pinned: Existing folders below it whose content may be written, but which must not be
            renamed or removed, because something protected lies in them.
    """

    path: str
    read_only: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


class ResolvedPolicy(NamedTuple):
    """A sandbox policy in terms of this machine, for one working directory.

    Attributes:
        mode: The mode it came from.
        cwd: Absolute, canonical.
        writable_roots: What may be written; empty in read-only mode.
        deny_read: Files and folders that must not be read, absolute.
        network: Whether the network may be used without anybody in between.
        unconfined: Nothing is confined (full access or an external sandbox).
        max_processes: Bound on processes of one command, None for no bound.
        max_memory_bytes: Bound on memory of one command, None for no bound.
        readable_roots: With a tuple, nothing else can be read but these, the writable roots and
            what a backend needs to start programs; None means everything less `deny_read`.
        unix_sockets: Sockets of services outside that may be connected to, absolute.
        debugging: Commands may trace processes of their own, as debuggers do.
    """

    mode: Literal["read-only", "workspace-write", "danger-full-access", "external-sandbox"]
    cwd: str
    writable_roots: tuple[WritableRoot, ...] = ()
    deny_read: tuple[str, ...] = ()
    network: bool = False
    unconfined: bool = False
    max_processes: int | None = None
    max_memory_bytes: int | None = None
    readable_roots: tuple[str, ...] | None = None
    unix_sockets: tuple[str, ...] = ()
    debugging: bool = False


class Door(NamedTuple):
    """The only way to the network for one command whose sandbox has none: a managed proxy.

    Where a command has a loopback interface of its own, the backend makes a listening socket on
    `port` there and hands it over; where it shares the machine's, the backend lets it connect to
    `port` of 127.0.0.1 and to nothing else.

    Attributes:
        port: The port on 127.0.0.1 that the command's environment names. The proxy listens on it
            on this machine already.
        serve: Takes over the descriptor of a listening TCP socket in the command's own network;
            may be called from any thread, before the command starts.
        readable: Files that the command's environment names. The kernel puts them among the
            readable roots of its policy where reading is bounded.
        unreadable: Files that the command must not read; the kernel puts them into its policy.
    """

    port: int
    serve: Callable[[int], None]
    readable: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Command(NamedTuple):
    """A command to run. `env` is complete: nothing is inherited.

    Attributes:
        argv: Program and arguments; surrogate escapes carry bytes that are not UTF-8.
        cwd: Absolute working directory.
        env: The whole environment.
        tty: Whether it gets a terminal of `size`.
        open_stdin: Whether a pipe is kept open for input; else it reads end of file.
        size: Rows and columns of its terminal.
        separate_stderr: Whether stderr is read by `Process.read_stderr` rather than with stdout; a
            terminal has one stream for both.
        door: The way to the network; None for none beside what the policy allows.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    tty: bool = False
    open_stdin: bool = False
    size: tuple[int, int] = (24, 80)
    separate_stderr: bool = False
    door: Door | None = None


class Launch(NamedTuple):
    """How to start a confined command.

    Attributes:
        argv: What is really executed; its first element is an absolute path.
        env: The environment of `argv`.
        cwd: Where `argv` is started.
        pass_fds: Descriptors it inherits beside 0, 1 and 2, under the same numbers.
        started: Called in the parent once the process exists, to close its copies.
        cleanup: Called once after the process is gone, on every path.
        forward_signal: Delivers a signal to the command itself; None means the process group.
        adopts_terminal: The command makes a terminal it gets as 0, 1 and 2 its controlling one by
            itself. Needed where `argv` is a wrapper that an interrupt typed there must not reach.
        settled: Called once the process exists, in a thread; waits until the sandbox stands or has
            failed to. False when it failed over something of the machine that changed meanwhile:
            the command did not run, and preparing it anew may succeed.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    pass_fds: tuple[int, ...] = ()
    started: Callable[[], None] | None = None
    cleanup: Callable[[], None] | None = None
    forward_signal: Callable[[int, int], bool] | None = None
    adopts_terminal: bool = False
    settled: Callable[[], bool] | None = None


class Denial(NamedTuple):
    """What the sandbox itself refused.

    Attributes:
        kind: What was touched.
        path: The path, when known.
        reason: One sentence in plain words.
        is_inferred: Whether that was concluded from how a command ended and what it said, because
            the system tells nobody what it refused a process.
    """

    kind: Literal["write", "read", "network", "syscall", "unknown"]
    reason: str
    path: str | None = None
    is_inferred: bool = False


class CommandResult(NamedTuple):
    """How a command ended: exit code (128 + n for signal n) and the tail of its output."""

    exit_code: int
    output: bytes


class Capabilities(NamedTuple):
    """What a backend can do on this machine.

    Attributes:
        available: Whether it can run commands here.
        reason: Why not, with the mend; or how it works here.
        enforced: What it enforces here.
        local_files: Whether the command's files are this machine's files.
    """

    available: bool
    reason: str
    enforced: frozenset[Feature] = frozenset()
    local_files: bool = True


class FileStat(NamedTuple):
    """Kind, size in bytes and permission bits of a path, symbolic links followed."""

    kind: Literal["file", "directory", "other"]
    size: int
    mode: int


class DirectoryEntry(NamedTuple):
    """A name in a folder."""

    name: str
    kind: Literal["file", "directory", "symlink", "other"]


class WriteFile(NamedTuple):
    """Give a file this content, missing folders created; `mode` None keeps or defaults it."""

    path: str
    data: bytes
    mode: int | None = None


class RemoveFile(NamedTuple):
    """Remove a file."""

    path: str


FileEdit = WriteFile | RemoveFile


class FileSystem(Protocol):
    """Files as the sandbox of the running attempt allows them; paths are absolute.

    A refusal of the policy raises `SandboxDeniedError` from `ferrule_hookspecs.tools`; ordinary
    failures raise `OSError`.
    """

    def check(self, operation: Literal["read", "write"], path: str) -> Denial | None:
        """Tell what the policy would refuse, without touching the file."""
        ...

    async def stat(self, path: str) -> FileStat | None:
        """Look at a path; None when nothing is there."""
        ...

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file, at most `limit` bytes."""
        ...

    async def list(self, path: str) -> Sequence[DirectoryEntry]:
        """List a folder, sorted by name."""
        ...

    async def apply(self, edits: Sequence[FileEdit]) -> None:
        """Make all edits or none: what fails midway is undone before the error is raised."""
        ...


class SandboxBackend(Protocol):
    """Confines commands. Constructed with a `PluginContext`."""

    name: str

    def probe(self) -> Capabilities:
        """Tell what works on this machine; cheap after the first call."""
        ...

    def prepare(self, policy: ResolvedPolicy, command: Command) -> Launch:
        """Build the launch of one command; raises `SandboxUnavailableError` rather than widen."""
        ...

    def classify(self, policy: ResolvedPolicy, result: CommandResult) -> Denial | None:
        """Tell whether the sandbox, and not the command itself, made it fail."""
        ...

    def files(self, policy: ResolvedPolicy) -> FileSystem | None:
        """File access for tools; None when files are local and the kernel's own access serves."""
        ...

    async def aclose(self) -> None:
        """Give back everything the backend holds."""
        ...
