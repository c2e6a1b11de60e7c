"""Functions of Windows, found when they are first called, so that this imports on every system."""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_size_t, c_uint32, c_void_p, c_wchar_p
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

Value = object
_Result = type[c_int] | type[c_uint32] | type[c_void_p]

# Name: library, result, arguments. Handles, pointers and identities are all `c_void_p`.
FUNCTIONS: Final[dict[str, tuple[str, _Result | None, tuple[type, ...]]]] = {
    "CloseHandle": ("kernel32", c_int, (c_void_p,)),
    "CreateDirectoryW": ("kernel32", c_int, (c_wchar_p, c_void_p)),
    "CreateFileW": (
        "kernel32",
        c_void_p,
        (c_wchar_p, c_uint32, c_uint32, c_void_p, c_uint32, c_uint32, c_void_p),
    ),
    "CreateJobObjectW": ("kernel32", c_void_p, (c_void_p, c_wchar_p)),
    "AssignProcessToJobObject": ("kernel32", c_int, (c_void_p, c_void_p)),
    "SetInformationJobObject": ("kernel32", c_int, (c_void_p, c_int, c_void_p, c_uint32)),
    "DeleteProcThreadAttributeList": ("kernel32", None, (c_void_p,)),
    "InitializeProcThreadAttributeList": (
        "kernel32",
        c_int,
        (c_void_p, c_uint32, c_uint32, c_void_p),
    ),
    "UpdateProcThreadAttribute": (
        "kernel32",
        c_int,
        (c_void_p, c_uint32, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p),
    ),
    "GetCurrentProcess": ("kernel32", c_void_p, ()),
    "GetExitCodeProcess": ("kernel32", c_int, (c_void_p, c_void_p)),
    "GetLogicalDrives": ("kernel32", c_uint32, ()),
    "GetVolumePathNameW": ("kernel32", c_int, (c_wchar_p, c_void_p, c_uint32)),
    "GetVolumeInformationW": (
        "kernel32",
        c_int,
        (c_wchar_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p, c_uint32),
    ),
    "IsProcessInJob": ("kernel32", c_int, (c_void_p, c_void_p, c_void_p)),
    "LocalFree": ("kernel32", c_void_p, (c_void_p,)),
    "ResumeThread": ("kernel32", c_uint32, (c_void_p,)),
    "SetHandleInformation": ("kernel32", c_int, (c_void_p, c_uint32, c_uint32)),
    "TerminateProcess": ("kernel32", c_int, (c_void_p, c_uint32)),
    "WaitForSingleObject": ("kernel32", c_uint32, (c_void_p, c_uint32)),
    "ConvertSidToStringSidW": ("advapi32", c_int, (c_void_p, c_void_p)),
    "ConvertStringSidToSidW": ("advapi32", c_int, (c_wchar_p, c_void_p)),
    "ConvertStringSecurityDescriptorToSecurityDescriptorW": (
        "advapi32",
        c_int,
        (c_wchar_p, c_uint32, c_void_p, c_void_p),
    ),
    "CreateProcessAsUserW": (
        "advapi32",
        c_int,
        (
            *(c_void_p, c_wchar_p, c_void_p, c_void_p, c_void_p, c_int, c_uint32),
            *(c_void_p, c_wchar_p, c_void_p, c_void_p),
        ),
    ),
    "CreateRestrictedToken": (
        "advapi32",
        c_int,
        (
            *(c_void_p, c_uint32, c_uint32, c_void_p, c_uint32, c_void_p, c_uint32),
            *(c_void_p, c_void_p),
        ),
    ),
    "DeleteAce": ("advapi32", c_int, (c_void_p, c_uint32)),
    "EqualSid": ("advapi32", c_int, (c_void_p, c_void_p)),
    "GetAce": ("advapi32", c_int, (c_void_p, c_uint32, c_void_p)),
    "GetAclInformation": ("advapi32", c_int, (c_void_p, c_void_p, c_uint32, c_int)),
    "GetSecurityDescriptorDacl": (
        "advapi32",
        c_int,
        (c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "GetSecurityInfo": (
        "advapi32",
        c_uint32,
        (c_void_p, c_int, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "GetTokenInformation": (
        "advapi32",
        c_int,
        (c_void_p, c_int, c_void_p, c_uint32, c_void_p),
    ),
    "OpenProcessToken": ("advapi32", c_int, (c_void_p, c_uint32, c_void_p)),
    "SetEntriesInAclW": ("advapi32", c_uint32, (c_uint32, c_void_p, c_void_p, c_void_p)),
    "SetSecurityInfo": (
        "advapi32",
        c_uint32,
        (c_void_p, c_int, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p),
    ),
    "SetTokenInformation": ("advapi32", c_int, (c_void_p, c_int, c_void_p, c_uint32)),
    "CreateDesktopW": (
        "user32",
        c_void_p,
        (c_wchar_p, c_void_p, c_void_p, c_uint32, c_uint32, c_void_p),
    ),
    "CloseDesktop": ("user32", c_int, (c_void_p,)),
}

_INVALID_HANDLE: Final = c_void_p(-1).value


class _Library(Protocol):
    def __getitem__(self, name: str) -> ctypes._NamedFuncPointer: ...  # pyright: ignore[reportPrivateUsage] -- has no public name


def call(name: str, *arguments: Value) -> int:
    """Call a function; returns what it returns, as a number.

    Raises:
        OSError: This is not Windows.
    """
    found = _function(name)(*arguments)
    return 0 if found is None else int(found)


def must(name: str, *arguments: Value) -> int:
    """Call a function that returns zero, or an invalid handle, where it fails.

    Raises:
        OSError: It failed; the error is the system's.
    """
    found = call(name, *arguments)
    if found in (0, _INVALID_HANDLE):
        raise last_error(name)
    return found


def must_be_zero(name: str, *arguments: Value) -> None:
    """Call a function that returns an error number, or zero.

    Raises:
        OSError: It failed.
    """
    found = call(name, *arguments)
    if found:
        raise system_error(found, name)


def last_error(name: str) -> OSError:
    """Return the error of the last call of this thread."""
    number = cast("Callable[[], int]", getattr(ctypes, "get_last_error", int))()
    return system_error(number, name)


def system_error(number: int, name: str) -> OSError:
    """Return an error of Windows by its number; `winerror` holds it there."""
    words = cast("Callable[[int], str]", getattr(ctypes, "FormatError", str))(number)
    return OSError(0, f"{name}: {words.strip()} ({number})", None, number)


@cache
def _function(name: str) -> ctypes._NamedFuncPointer:  # pyright: ignore[reportPrivateUsage] -- has no public name
    library, result, arguments = FUNCTIONS[name]
    function = _library(library)[name]
    function.restype = result
    function.argtypes = arguments
    return function


@cache
def _library(name: str) -> _Library:
    load = getattr(ctypes, "WinDLL", None)
    if load is None:
        raise OSError(0, f"{name}.dll is part of Windows, and this is another system")
    # By name alone a library is looked for beside the program first, which is Python's folder.
    return cast("_Library", load(f"{name}.dll", use_last_error=True, winmode=_SYSTEM_ONLY))


_SYSTEM_ONLY: Final = 0x800
"""LOAD_LIBRARY_SEARCH_SYSTEM32."""
