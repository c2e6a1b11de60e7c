"""What this process is for Windows: its token, its user and its session of logging on."""

from __future__ import annotations

from contextlib import contextmanager
from ctypes import addressof, byref, c_void_p, sizeof
from functools import cache
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.calls import call, must
from ferrule_sandbox_windows.constants import (
    SE_GROUP_LOGON_ID,
    TOKEN_ADJUST_DEFAULT,
    TOKEN_ASSIGN_PRIMARY,
    TOKEN_DUPLICATE,
    TOKEN_QUERY,
    TokenGroups,
    TokenUser,
)
from ferrule_sandbox_windows.security import sid_text, token_facts
from ferrule_sandbox_windows.structures import SID_AND_ATTRIBUTES, TOKEN_GROUPS, TOKEN_USER

if TYPE_CHECKING:
    from collections.abc import Iterator

_RIGHTS: Final = TOKEN_ASSIGN_PRIMARY | TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ADJUST_DEFAULT


@contextmanager
def own_token() -> Iterator[int]:
    """Open the token of this process."""
    found = c_void_p()
    must("OpenProcessToken", call("GetCurrentProcess"), _RIGHTS, byref(found))
    try:
        yield found.value or 0
    finally:
        call("CloseHandle", found)


@cache
def user_sid() -> str:
    """Return the identity of the user."""
    with own_token() as token:
        facts = token_facts(token, TokenUser)
        return sid_text(TOKEN_USER.from_buffer(facts).User.Sid)


@cache
def logon_sid() -> str | None:
    """Return the identity of this session of logging on, which owns the desktop."""
    with own_token() as token:
        facts = token_facts(token, TokenGroups)
        groups = TOKEN_GROUPS.from_buffer(facts)
        first = addressof(groups) + TOKEN_GROUPS.Groups.offset
        for number in range(groups.GroupCount):
            group = SID_AND_ATTRIBUTES.from_address(first + number * sizeof(SID_AND_ATTRIBUTES))
            if group.Attributes & SE_GROUP_LOGON_ID == SE_GROUP_LOGON_ID:
                return sid_text(group.Sid)
    return None
