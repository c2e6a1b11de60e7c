"""Starts one command with a restricted token, in a job, on a desktop of its own.

Run as `python -I -m ferrule_sandbox_windows.launcher FILE`. It stays until the command has ended
and ends as it did; when it is killed, the job and with it every process of the command ends, too.
With `--missing NAME` it says, as a shell does, that there is no such program.
"""

from __future__ import annotations

import secrets
import signal
import sys
from contextlib import ExitStack, contextmanager
from ctypes import (
    addressof,
    byref,
    c_size_t,
    c_uint32,
    c_void_p,
    create_string_buffer,
    create_unicode_buffer,
    sizeof,
)
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.calls import call, last_error, must
from ferrule_sandbox_windows.command_line import environment_block
from ferrule_sandbox_windows.constants import (
    CREATE_SUSPENDED,
    CREATE_UNICODE_ENVIRONMENT,
    EXTENDED_STARTUPINFO_PRESENT,
    GENERIC_ALL,
    HANDLE_FLAG_INHERIT,
    INFINITE,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
    STARTF_USESTDHANDLES,
)
from ferrule_sandbox_windows.job import job, put_into
from ferrule_sandbox_windows.restricted_token import bounding_sids, own_objects, restricted_token
from ferrule_sandbox_windows.security import attributes
from ferrule_sandbox_windows.start_order import StartOrder, read_order
from ferrule_sandbox_windows.structures import PROCESS_INFORMATION, STARTUPINFOEXW

if TYPE_CHECKING:
    from collections.abc import Iterator

CANNOT_START: Final = 127
_CREATION: Final = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT
_RESUME_FAILED: Final = 0xFFFFFFFF


def main(words: list[str]) -> int:
    """Start the command of an order; returns its exit code."""
    _ignore_interrupts()
    if words[:1] == ["--missing"]:
        sys.stderr.write(f"{' '.join(words[1:])}: command not found\n")
        return CANNOT_START
    try:
        return run(read_order(words[0]))
    except (IndexError, TypeError, ValueError, OSError) as error:
        sys.stderr.write(f"ferrule: the command could not be started in the sandbox: {error}\n")
        return CANNOT_START


def run(order: StartOrder) -> int:
    """Run a command to its end; returns its exit code.

    Raises:
        OSError: It was not started.
    """
    with ExitStack() as stack:
        bounds = stack.enter_context(job(order.max_processes, order.max_memory_bytes))
        token = stack.enter_context(restricted_token(order.sid))
        desktop = stack.enter_context(_desktop(order.sid))
        process, thread = _start(order, token, desktop)
        stack.callback(call, "CloseHandle", process)
        stack.callback(call, "CloseHandle", thread)
        try:
            put_into(bounds, process)
            _resume(thread)
        except BaseException:
            call("TerminateProcess", process, CANNOT_START)
            raise
        call("WaitForSingleObject", process, INFINITE)
        code = c_uint32()
        must("GetExitCodeProcess", process, byref(code))
        return _as_signed(code.value)


def _resume(thread: int) -> None:
    if call("ResumeThread", thread) == _RESUME_FAILED:
        raise last_error("ResumeThread")


def _as_signed(code: int) -> int:
    """An exit code as this process can end with it: Windows numbers faults from 0xC0000000 on."""
    return code - (1 << 32) if code >> 31 else code


def _ignore_interrupts() -> None:
    """Outlive an interrupt: the command, on the same console, gets it, too, and decides."""
    for name in ("SIGINT", "SIGBREAK"):
        number: signal.Signals | None = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, lambda *_: None)


def _start(order: StartOrder, token: int, desktop: str) -> tuple[int, int]:
    """Start the command, not running yet; returns its process and its thread."""
    handles = _standard_handles()
    told = STARTUPINFOEXW()
    startup = told.StartupInfo
    name = create_unicode_buffer(desktop)
    startup.cb = sizeof(told)
    startup.lpDesktop = addressof(name)
    startup.dwFlags = STARTF_USESTDHANDLES
    startup.hStdInput, startup.hStdOutput, startup.hStdError = handles
    environment = create_unicode_buffer(environment_block(order.env))
    line = create_unicode_buffer(order.command_line)
    started = PROCESS_INFORMATION()
    with _inherited(handles) as listed:
        told.lpAttributeList = listed
        must(
            "CreateProcessAsUserW",
            *(token, None, line, None, None, 1, _CREATION),
            *(environment, order.cwd, byref(told), byref(started)),
        )
    return started.hProcess, started.hThread


def _standard_handles() -> tuple[int, int, int]:
    """The handles of this process's own input and output, made inheritable."""
    found: list[int] = []
    for descriptor in range(3):
        handle = _handle_of(descriptor)
        must("SetHandleInformation", handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT)
        found.append(handle)
    return found[0], found[1], found[2]


def _handle_of(descriptor: int) -> int:
    if sys.platform != "win32":
        raise OSError(0, "handles are part of Windows, and this is another system")
    import msvcrt

    return msvcrt.get_osfhandle(descriptor)


@contextmanager
def _inherited(handles: tuple[int, ...]) -> Iterator[int]:
    """A list of attributes by which a process inherits these handles and no others."""
    unique = tuple(dict.fromkeys(handles))
    inherited = (c_void_p * len(unique))(*unique)
    size = c_size_t()
    call("InitializeProcThreadAttributeList", None, 1, 0, byref(size))
    buffer = create_string_buffer(size.value)
    must("InitializeProcThreadAttributeList", buffer, 1, 0, byref(size))
    try:
        must(
            "UpdateProcThreadAttribute",
            *(buffer, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST),
            *(inherited, sizeof(inherited), None, None),
        )
        yield addressof(buffer)
    finally:
        call("DeleteProcThreadAttributeList", buffer)


@contextmanager
def _desktop(sid: str) -> Iterator[str]:
    """Make a desktop that the user's windows are not on; yields its name."""
    name = f"ferrule-{secrets.token_hex(8)}"
    with attributes(own_objects(bounding_sids(sid))) as security:
        handle = must("CreateDesktopW", name, None, None, 0, GENERIC_ALL, security)
    try:
        yield f"WinSta0\\{name}"
    finally:
        call("CloseDesktop", handle)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
