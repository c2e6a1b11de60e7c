"""The job of a command: all its processes end with it, and there are bounds on them."""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import byref, c_int, sizeof
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.calls import call, must
from ferrule_sandbox_windows.constants import (
    JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
    JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_UILIMIT_DESKTOP,
    JOB_OBJECT_UILIMIT_DISPLAYSETTINGS,
    JOB_OBJECT_UILIMIT_EXITWINDOWS,
    JOB_OBJECT_UILIMIT_GLOBALATOMS,
    JOB_OBJECT_UILIMIT_HANDLES,
    JOB_OBJECT_UILIMIT_READCLIPBOARD,
    JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS,
    JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
    JobObjectBasicUIRestrictions,
    JobObjectExtendedLimitInformation,
)
from ferrule_sandbox_windows.structures import (
    JOBOBJECT_BASIC_UI_RESTRICTIONS,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_DESKTOP: Final = (
    JOB_OBJECT_UILIMIT_HANDLES
    | JOB_OBJECT_UILIMIT_READCLIPBOARD
    | JOB_OBJECT_UILIMIT_WRITECLIPBOARD
    | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
    | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
    | JOB_OBJECT_UILIMIT_GLOBALATOMS
    | JOB_OBJECT_UILIMIT_DESKTOP
    | JOB_OBJECT_UILIMIT_EXITWINDOWS
)


def limits(
    max_processes: int | None, max_memory_bytes: int | None
) -> JOBOBJECT_EXTENDED_LIMIT_INFORMATION:
    """Write bounds as Windows takes them; None is no bound."""
    made = JOBOBJECT_EXTENDED_LIMIT_INFORMATION()
    basic = made.BasicLimitInformation
    basic.LimitFlags = (
        JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
    )
    if max_processes is not None:
        basic.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS
        basic.ActiveProcessLimit = max_processes
    if max_memory_bytes is not None:
        basic.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY
        made.JobMemoryLimit = max_memory_bytes
    return made


@contextmanager
def job(max_processes: int | None, max_memory_bytes: int | None) -> Iterator[int]:
    """Make a job; whatever is left in it ends when its handle is closed, or this process dies."""
    handle = must("CreateJobObjectW", None, None)
    try:
        bounds = limits(max_processes, max_memory_bytes)
        must(
            "SetInformationJobObject",
            *(handle, JobObjectExtendedLimitInformation, byref(bounds), sizeof(bounds)),
        )
        yield handle
    finally:
        call("CloseHandle", handle)


def put_into(handle: int, process: int) -> None:
    """Put a process that does not run yet into a job.

    Where it is in another job already, as below some terminals and services, the two are nested,
    which Windows refuses for jobs that bound the use of the desktop.
    """
    is_nested = c_int()
    must("IsProcessInJob", process, None, byref(is_nested))
    if not is_nested.value:
        desktop = JOBOBJECT_BASIC_UI_RESTRICTIONS(_DESKTOP)
        must(
            "SetInformationJobObject",
            *(handle, JobObjectBasicUIRestrictions, byref(desktop), sizeof(desktop)),
        )
    must("AssignProcessToJobObject", handle, process)
