"""Files, drives and access lists of Windows; satisfies `System`."""

from __future__ import annotations

import os
import string
import sys
from contextlib import contextmanager
from ctypes import byref, c_uint32, c_void_p, create_unicode_buffer, sizeof
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.calls import call, last_error, must, must_be_zero
from ferrule_sandbox_windows.constants import (
    DACL_SECURITY_INFORMATION,
    DELETE,
    DENY_ACCESS,
    ERROR_ALREADY_EXISTS,
    ERROR_SHARING_VIOLATION,
    FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_DELETE_ON_CLOSE,
    FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_PERSISTENT_ACLS,
    FILE_READ_DATA,
    FILE_SHARE_DELETE,
    FILE_SHARE_READ,
    FILE_SHARE_WRITE,
    GRANT_ACCESS,
    INHERITED_ACE,
    OPEN_EXISTING,
    READ_CONTROL,
    SE_FILE_OBJECT,
    TRUSTEE_IS_SID,
    TRUSTEE_IS_UNKNOWN,
    WRITE_DAC,
    AclSizeInformation,
)
from ferrule_sandbox_windows.own_token import user_sid
from ferrule_sandbox_windows.security import attributes, sid_of
from ferrule_sandbox_windows.structures import (
    ACCESS_ALLOWED_ACE,
    ACL_SIZE_INFORMATION,
    EXPLICIT_ACCESS_W,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ferrule_sandbox_windows.access_plan import Ace
    from ferrule_sandbox_windows.system import Hold

_TOGETHER: Final = FILE_SHARE_READ | FILE_SHARE_WRITE
_AS_IT_IS: Final = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT
_MAX_PATH: Final = 32_768


class _Handle:
    """An open file or folder; satisfies `Hold`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def close(self) -> None:
        """Close it; with a stand-in, that removes it."""
        if self.value:
            call("CloseHandle", self.value)
            self.value = 0


class Win32System:
    """This machine, where it runs Windows."""

    def build(self) -> int:
        """Return the build number of Windows."""
        version: tuple[int, ...] = getattr(sys, "getwindowsversion", lambda: (0, 0, 0))()
        return version[2]

    def drives(self) -> tuple[str, ...]:
        """Return the roots of the drives."""
        mask = must("GetLogicalDrives")
        letters = string.ascii_uppercase
        roots = (f"{letter}:\\" for bit, letter in enumerate(letters) if mask >> bit & 1)
        return tuple(root for root in roots if os.path.isdir(root))  # not where no disc is in

    def has_access_lists(self, path: str) -> bool:
        """Whether the drive of a path keeps access lists; FAT does not."""
        volume = create_unicode_buffer(_MAX_PATH)
        must("GetVolumePathNameW", path, volume, _MAX_PATH)
        flags = c_uint32()
        must("GetVolumeInformationW", volume.value, None, 0, None, None, byref(flags), None, 0)
        return bool(flags.value & FILE_PERSISTENT_ACLS)

    def hold(self, path: str) -> Hold:
        """Keep an existing name: as long as it is held, nobody can rename or remove it.

        What shares may be bounded only by who reads, writes or deletes: to look at attributes
        would hold nothing. A stand-in of another session is held by that one, and stays with both.
        """
        try:
            return _open(path, FILE_READ_DATA, _TOGETHER)
        except OSError as error:
            if getattr(error, "winerror", 0) != ERROR_SHARING_VIOLATION:
                raise
            return _open(path, FILE_READ_DATA, _TOGETHER | FILE_SHARE_DELETE)

    def stand_in(self, path: str) -> Hold:
        """Make an empty folder that only this user may enter, and hold it.

        The access list is the folder's own and inherits nothing, so that no command's identity is
        in it. Where a stand-in of another process is there already, it stays until both let go.
        """
        with attributes(f"D:P(A;OICI;GA;;;{user_sid()})(A;OICI;GA;;;SY)") as security:
            if not call("CreateDirectoryW", path, security):
                error = last_error("CreateDirectoryW")
                if getattr(error, "winerror", 0) != ERROR_ALREADY_EXISTS:
                    raise error
        try:
            return _open(path, DELETE, _TOGETHER, FILE_FLAG_DELETE_ON_CLOSE)
        except OSError as error:
            if getattr(error, "winerror", 0) != ERROR_SHARING_VIOLATION:
                raise
            return self.hold(path)

    def add_entries(self, sid: str, entries: Sequence[Ace]) -> None:
        """Add entries for an identity to the access lists of paths that exist."""
        with sid_of(sid) as identity:
            for path in dict.fromkeys(entry.path for entry in entries):
                own = [entry for entry in entries if entry.path == path]
                with _access_list(path) as (handle, current):
                    _write(handle, _extended(current, identity, own))

    def remove_entries(self, sid: str, paths: Sequence[str]) -> None:
        """Remove all entries of an identity; paths that are gone are passed over."""
        with sid_of(sid) as identity:
            for path in dict.fromkeys(paths):
                if not os.path.lexists(path):
                    continue
                with _access_list(path) as (handle, current):
                    if _remove(current, identity):
                        _write(handle, current)


def _open(path: str, access: int, share: int, flags: int = 0) -> _Handle:
    """Open a file, a folder or a link as what it is."""
    return _Handle(
        must("CreateFileW", path, access, share, None, OPEN_EXISTING, _AS_IT_IS | flags, None)
    )


@contextmanager
def _access_list(path: str) -> Iterator[tuple[int, int]]:
    """Open a path to change its access list; yields the handle and the list's address."""
    handle = _open(path, READ_CONTROL | WRITE_DAC, _TOGETHER | FILE_SHARE_DELETE)
    found, descriptor = c_void_p(), c_void_p()
    try:
        must_be_zero(
            "GetSecurityInfo",
            *(handle.value, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION),
            *(None, None, byref(found), None, byref(descriptor)),
        )
        if not found:
            # With a list of our own entries alone, everybody else would be shut out.
            raise OSError(0, f"{path} has no access list: anybody may write there")
        yield handle.value, found.value or 0
    finally:
        if descriptor:
            call("LocalFree", descriptor)
        handle.close()


def _extended(current: int, identity: int, entries: Sequence[Ace]) -> int:
    """Return a new list with entries more; refusals are put first."""
    made = (EXPLICIT_ACCESS_W * len(entries))()
    for place, entry in zip(made, entries, strict=True):
        place.grfAccessPermissions = entry.mask
        place.grfAccessMode = GRANT_ACCESS if entry.kind == "allow" else DENY_ACCESS
        place.grfInheritance = entry.flags
        place.Trustee.TrusteeForm = TRUSTEE_IS_SID
        place.Trustee.TrusteeType = TRUSTEE_IS_UNKNOWN
        place.Trustee.ptstrName = identity
    extended = c_void_p()
    must_be_zero("SetEntriesInAclW", len(entries), made, current or None, byref(extended))
    return extended.value or 0


def _write(handle: int, access_list: int) -> None:
    """Write an access list; the system hands on what children inherit."""
    must_be_zero(
        "SetSecurityInfo",
        *(handle, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, None, None, access_list, None),
    )


def _remove(access_list: int, identity: int) -> bool:
    """Take the entries of an identity out of a list in memory; returns whether there were any."""
    size = ACL_SIZE_INFORMATION()
    must("GetAclInformation", access_list, byref(size), sizeof(size), AclSizeInformation)
    is_changed = False
    for index in reversed(range(size.AceCount)):
        address = c_void_p()
        must("GetAce", access_list, index, byref(address))
        entry = ACCESS_ALLOWED_ACE.from_address(address.value or 0)
        whose = (address.value or 0) + ACCESS_ALLOWED_ACE.SidStart.offset
        is_own = entry.Header.AceType in _PLAIN_TYPES and not entry.Header.AceFlags & INHERITED_ACE
        if is_own and call("EqualSid", whose, identity):
            must("DeleteAce", access_list, index)
            is_changed = True
    return is_changed


_PLAIN_TYPES: Final = (0, 1)
"""Entries that grant, and that refuse; others are laid out in other ways and never ours."""
