"""Parameters and results of the methods that run programs."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ferrule_hookspecs.policies import DangerFullAccess, ExternalSandbox, ReadOnly, WorkspaceWrite

Count = Annotated[int, Field(ge=0)]
Cells = Annotated[int, Field(ge=0, le=65535)]
SandboxPolicy = Annotated[
    DangerFullAccess | ReadOnly | ExternalSandbox | WorkspaceWrite, Field(discriminator="type")
]


class Size(TypedDict):
    """The size of a terminal."""

    rows: Cells
    cols: Cells


class CommandExecParams(TypedDict):
    """A program to run in the sandbox; the reply comes when it has ended."""

    command: list[str]
    cwd: NotRequired[str | None]
    env: NotRequired[dict[str, str | None] | None]
    timeoutMs: NotRequired[int | None]
    disableTimeout: NotRequired[bool | None]
    outputBytesCap: NotRequired[Count | None]
    disableOutputCap: NotRequired[bool | None]
    sandboxPolicy: NotRequired[SandboxPolicy | None]
    permissionProfile: NotRequired[str | None]
    processId: NotRequired[str | None]
    tty: NotRequired[bool | None]
    size: NotRequired[Size | None]
    streamStdin: NotRequired[bool | None]
    streamStdoutStderr: NotRequired[bool | None]


class CommandExecResult(TypedDict):
    """How a program ended; streamed output is not repeated."""

    exitCode: int
    stdout: str
    stderr: str


class CommandWriteParams(TypedDict):
    """Input for a program, and whether it was the last."""

    processId: str
    deltaBase64: NotRequired[str | None]
    closeStdin: NotRequired[bool | None]


class CommandResizeParams(TypedDict):
    """A new size of a program's terminal."""

    processId: str
    size: Size


class CommandTerminateParams(TypedDict):
    """A program to end."""

    processId: str


class CommandOutputParams(TypedDict):
    """More output; `capReached` tells that no more follows of this stream."""

    processId: str
    stream: Literal["stdout", "stderr"]
    deltaBase64: str
    capReached: bool


class ProcessSpawnParams(TypedDict):
    """A program to run without a sandbox; the reply comes when it has started.

    A cap or time limit of null is none; what is absent is the default.
    """

    command: list[str]
    cwd: str
    processHandle: str
    env: NotRequired[dict[str, str | None] | None]
    timeoutMs: NotRequired[int | None]
    outputBytesCap: NotRequired[Count | None]
    tty: NotRequired[bool | None]
    size: NotRequired[Size | None]
    streamStdin: NotRequired[bool | None]
    streamStdoutStderr: NotRequired[bool | None]


class ProcessWriteParams(TypedDict):
    """Input for a program, and whether it was the last."""

    processHandle: str
    deltaBase64: NotRequired[str | None]
    closeStdin: NotRequired[bool | None]


class ProcessResizeParams(TypedDict):
    """A new size of a program's terminal."""

    processHandle: str
    size: Size


class ProcessKillParams(TypedDict):
    """A program to end."""

    processHandle: str


class ProcessOutputParams(TypedDict):
    """More output; `capReached` tells that no more follows of this stream."""

    processHandle: str
    stream: Literal["stdout", "stderr"]
    deltaBase64: str
    capReached: bool


class ProcessExitedParams(TypedDict):
    """How a program ended; streamed output is not repeated."""

    processHandle: str
    exitCode: int
    stdout: str
    stderr: str
    stdoutCapReached: bool
    stderrCapReached: bool


class Nothing(TypedDict):
    """Done."""
