"""`command/exec*` and `process/*`: programs that a client runs, outside of any thread.

The first run in the sandbox, as the administrator allows; the second run without one, which is
refused where the administrator wants one.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from ferrule_app_server.methods import command_shapes as shapes
from ferrule_app_server.methods.client_program import (
    DEFAULT_CAP,
    DEFAULT_TIMEOUT_MS,
    ClientProgram,
    Limits,
)
from ferrule_app_server.methods.folders import absolute, config_at, folder
from ferrule_app_server.methods.per_client import PerClient
from ferrule_app_server.methods.program_shelf import ProgramShelf
from ferrule_app_server.permission_profiles import check_profile, policy_of
from ferrule_hookspecs.sandbox import Command
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from ferrule_app_server.methods.client_program import Listener, StreamName
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.policies import SandboxPolicy
    from ferrule_hookspecs.serving import RpcCall
    from ferrule_hookspecs.tools import SandboxSession

_commands = PerClient(lambda: ProgramShelf("command/exec for process id"))
_processes = PerClient(lambda: ProgramShelf("process for process handle"))


async def _exec(call: RpcCall) -> Mapping[str, object]:
    params = call.params
    _check_exec(params)
    name = cast("str | None", params.get("processId"))
    program = ClientProgram(
        _exec_limits(params),
        _listener(call, "command/exec/outputDelta", "processId", name),
        call.client.room,
    )
    with _kept(_commands.of(call.client), name, program):
        cwd = folder(call, params.get("cwd"))
        config = await config_at(call, cwd)
        policy = _policy(call, config)
        sandbox = call.kernel.sandbox(config, cwd, policy=policy)
        await _start(program, sandbox, _command(call, config, cwd, policy))
        code = await program.finish()
    return {"exitCode": code, "stdout": program.stdout.text, "stderr": program.stderr.text}


def _check_exec(params: Mapping[str, object]) -> None:
    _check_command(params)
    streams = any(params.get(key) for key in ("tty", "streamStdin", "streamStdoutStderr"))
    if streams and params.get("processId") is None:
        raise RpcError("command/exec tty or streaming requires a client-supplied processId")
    for one, other in (
        ("disableTimeout", "timeoutMs"),
        ("disableOutputCap", "outputBytesCap"),
        ("permissionProfile", "sandboxPolicy"),
    ):
        if params.get(one) and params.get(other) is not None:
            raise RpcError(f"`{other}` cannot be combined with `{one}`")
    timeout = params.get("timeoutMs")
    if isinstance(timeout, int) and timeout < 0:
        raise RpcError(f"command/exec timeoutMs must be non-negative, got {timeout}")


def _check_command(params: Mapping[str, object]) -> None:
    command = cast("list[str]", params["command"])
    if not command or not command[0]:
        raise RpcError("command must not be empty")
    if any("\0" in part for part in command):
        raise RpcError("command must not contain NUL characters")
    for name, value in cast("Mapping[str, str | None]", params.get("env") or {}).items():
        if not name or "=" in name or "\0" in f"{name}{value}":
            raise RpcError(f"env holds {name!r}, which cannot be the name or value of a variable")
    policy = cast("Mapping[str, object]", params.get("sandboxPolicy") or {})
    if any("\0" in str(root) for root in cast("list[object]", policy.get("writableRoots") or [])):
        raise RpcError("Invalid request: a path cannot hold a NUL character")
    if params.get("size") is not None and not params.get("tty"):
        raise RpcError("`size` requires `tty: true`")


def _exec_limits(params: Mapping[str, object]) -> Limits:
    timeout = cast("int | None", params.get("timeoutMs"))
    cap = cast("int | None", params.get("outputBytesCap"))
    return Limits(
        None
        if params.get("disableTimeout")
        else DEFAULT_TIMEOUT_MS
        if timeout is None
        else timeout,
        None if params.get("disableOutputCap") else DEFAULT_CAP if cap is None else cap,
    )


def _listener(call: RpcCall, method: str, key: str, name: str | None) -> Listener | None:
    """Make what sends output to the client, where it wants that."""
    if not (call.params.get("tty") or call.params.get("streamStdoutStderr")):
        return None

    def tell(stream: StreamName, data: str, *, cap_reached: bool) -> None:
        call.client.notify(
            method, {key: name, "stream": stream, "deltaBase64": data, "capReached": cap_reached}
        )

    return tell


@contextmanager
def _kept(shelf: ProgramShelf, name: str | None, program: ClientProgram) -> Generator[None]:
    shelf.add(name, program)
    try:
        yield
    finally:
        shelf.remove(name, program)


def _policy(call: RpcCall, config: Config) -> SandboxPolicy | None:
    """What the client wants the command to run under; None for what is configured."""
    policy = cast("SandboxPolicy | None", call.params.get("sandboxPolicy"))
    profile = cast("str | None", call.params.get("permissionProfile"))
    if profile is not None:
        check_profile(call.kernel, config, profile)
        policy = policy_of(profile)
    return policy


def _command(call: RpcCall, config: Config, cwd: str, policy: SandboxPolicy | None) -> Command:
    params = call.params
    environment = call.kernel.environment(config, policy=policy)
    tty = bool(params.get("tty"))
    if tty:
        environment["TERM"] = "xterm-256color"
    changes = cast("Mapping[str, str | None]", params.get("env") or {})
    environment.update({name: value for name, value in changes.items() if value is not None})
    for name in (name for name, value in changes.items() if value is None):
        environment.pop(name, None)
    size = cast("Mapping[str, int]", params.get("size") or {"rows": 24, "cols": 80})
    return Command(
        tuple(cast("list[str]", params["command"])),
        cwd,
        environment,
        tty=tty,
        open_stdin=tty or bool(params.get("streamStdin")),
        size=(size["rows"], size["cols"]),
        separate_stderr=not tty,
    )


async def _start(program: ClientProgram, sandbox: SandboxSession, command: Command) -> None:
    try:
        await program.start(sandbox, command)
    except OSError as error:
        raise RpcError(f"failed to start {command.argv[0]!r}: {error.strerror}", -32603) from None


async def _write(call: RpcCall) -> Mapping[str, object]:
    await _commands.of(call.client).write(call.params["processId"], call.params)
    return {}


async def _resize(call: RpcCall) -> Mapping[str, object]:
    await _resized(_commands.of(call.client).get(call.params["processId"]), call)
    return {}


async def _terminate(call: RpcCall) -> Mapping[str, object]:
    _commands.of(call.client).get(call.params["processId"]).end()
    return {}


async def _resized(program: ClientProgram, call: RpcCall) -> None:
    size = cast("Mapping[str, int]", call.params["size"])
    await program.resize(size["rows"], size["cols"])


async def _spawn(call: RpcCall) -> Mapping[str, object]:
    params = call.params
    _check_command(params)
    cwd = absolute(params["cwd"])
    handle = str(params["processHandle"])
    program = ClientProgram(
        Limits(
            cast("int | None", params.get("timeoutMs", DEFAULT_TIMEOUT_MS)),
            cast("int | None", params.get("outputBytesCap", DEFAULT_CAP)),
        ),
        _listener(call, "process/outputDelta", "processHandle", handle),
        call.client.room,
    )
    shelf = _processes.of(call.client)
    shelf.add(handle, program)  # at once: a client that goes ends what is on its shelf
    try:
        config = await config_at(call, cwd)
        sandbox = call.kernel.sandbox(config, cwd, policy={"type": "dangerFullAccess"})
        await _start(program, sandbox, _command(call, config, cwd, None))
    except BaseException:
        shelf.remove(handle, program)
        raise

    async def finish() -> None:
        try:
            code = await program.finish()
        finally:
            shelf.remove(handle, program)
        call.client.notify(
            "process/exited",
            {
                "processHandle": handle,
                "exitCode": code,
                "stdout": program.stdout.text,
                "stderr": program.stderr.text,
                "stdoutCapReached": program.stdout.cap_reached,
                "stderrCapReached": program.stderr.cap_reached,
            },
        )

    call.client.start_soon(finish)
    return {}


async def _write_process(call: RpcCall) -> Mapping[str, object]:
    await _processes.of(call.client).write(call.params["processHandle"], call.params)
    return {}


async def _resize_process(call: RpcCall) -> Mapping[str, object]:
    await _resized(_processes.of(call.client).get(call.params["processHandle"]), call)
    return {}


async def _kill_process(call: RpcCall) -> Mapping[str, object]:
    _processes.of(call.client).get(call.params["processHandle"]).end()
    return {}


METHODS: Final = (
    RpcMethod(
        "command/exec",
        _exec,
        shapes.CommandExecParams,
        result=shapes.CommandExecResult,
        notifications={"command/exec/outputDelta": shapes.CommandOutputParams},
    ),
    RpcMethod("command/exec/write", _write, shapes.CommandWriteParams, result=shapes.Nothing),
    RpcMethod("command/exec/resize", _resize, shapes.CommandResizeParams, result=shapes.Nothing),
    RpcMethod(
        "command/exec/terminate", _terminate, shapes.CommandTerminateParams, result=shapes.Nothing
    ),
    RpcMethod(
        "process/spawn",
        _spawn,
        shapes.ProcessSpawnParams,
        experimental=True,
        result=shapes.Nothing,
        notifications={
            "process/outputDelta": shapes.ProcessOutputParams,
            "process/exited": shapes.ProcessExitedParams,
        },
    ),
    RpcMethod(
        "process/writeStdin",
        _write_process,
        shapes.ProcessWriteParams,
        experimental=True,
        result=shapes.Nothing,
    ),
    RpcMethod(
        "process/resizePty",
        _resize_process,
        shapes.ProcessResizeParams,
        experimental=True,
        result=shapes.Nothing,
    ),
    RpcMethod(
        "process/kill",
        _kill_process,
        shapes.ProcessKillParams,
        experimental=True,
        result=shapes.Nothing,
    ),
)
