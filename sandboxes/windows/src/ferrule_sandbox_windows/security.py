"""Identities and access lists as values of this process, given back where a block ends."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from ctypes import (
    addressof,
    byref,
    c_int,
    c_uint32,
    c_void_p,
    create_string_buffer,
    sizeof,
    wstring_at,
)
from typing import TYPE_CHECKING

from ferrule_sandbox_windows.calls import call, must
from ferrule_sandbox_windows.constants import SDDL_REVISION_1
from ferrule_sandbox_windows.structures import SECURITY_ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ctypes import Array, c_char


def new_sid() -> str:
    """Make up an identity that nobody has: of a domain that there is not."""
    return "S-1-5-21-" + "-".join(str(secrets.randbits(32)) for _ in range(4))


@contextmanager
def sid_of(text: str) -> Iterator[int]:
    """Have an identity in memory; yields its address."""
    found = c_void_p()
    must("ConvertStringSidToSidW", text, byref(found))
    try:
        yield found.value or 0
    finally:
        call("LocalFree", found)


def sid_text(address: int) -> str:
    """Write an identity as text."""
    found = c_void_p()
    must("ConvertSidToStringSidW", address, byref(found))
    try:
        return wstring_at(found.value or 0)
    finally:
        call("LocalFree", found)


@contextmanager
def described(sddl: str) -> Iterator[int]:
    """Have a security descriptor in memory; yields its address."""
    found = c_void_p()
    must(
        "ConvertStringSecurityDescriptorToSecurityDescriptorW",
        sddl,
        SDDL_REVISION_1,
        byref(found),
        None,
    )
    try:
        yield found.value or 0
    finally:
        call("LocalFree", found)


@contextmanager
def attributes(sddl: str) -> Iterator[int]:
    """Have security attributes in memory, as new objects are made with; yields their address."""
    with described(sddl) as descriptor:
        made = SECURITY_ATTRIBUTES()
        made.nLength = sizeof(made)
        made.lpSecurityDescriptor = descriptor
        yield addressof(made)


def access_list(descriptor: int) -> int:
    """Return the address of the access list of a descriptor."""
    is_there, is_default, found = c_int(), c_int(), c_void_p()
    must("GetSecurityDescriptorDacl", descriptor, byref(is_there), byref(found), byref(is_default))
    return found.value or 0


def token_facts(token: int, kind: int) -> Array[c_char]:
    """Ask a token about itself; what is returned begins with a structure."""
    size = c_uint32()
    call("GetTokenInformation", token, kind, None, 0, byref(size))
    buffer = create_string_buffer(size.value)
    must("GetTokenInformation", token, kind, buffer, size, byref(size))
    return buffer
