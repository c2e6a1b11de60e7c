"""The token of a command: this user's, but without privileges and bounded in what it may write.

A write must be granted to the user and to one of the bounding identities: the command's own, this
session of logging on, or everyone. The latter two are needed to use the console, the desktop and
the null device.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from ctypes import byref, c_void_p, sizeof
from typing import TYPE_CHECKING, Final

from ferrule_sandbox_windows.calls import call, must
from ferrule_sandbox_windows.constants import (
    DISABLE_MAX_PRIVILEGE,
    LUA_TOKEN,
    WRITE_RESTRICTED,
    TokenDefaultDacl,
)
from ferrule_sandbox_windows.own_token import logon_sid, own_token, user_sid
from ferrule_sandbox_windows.security import access_list, described, sid_of
from ferrule_sandbox_windows.structures import SID_AND_ATTRIBUTES, TOKEN_DEFAULT_DACL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EVERYONE: Final = "S-1-1-0"
_FLAGS: Final = DISABLE_MAX_PRIVILEGE | LUA_TOKEN | WRITE_RESTRICTED


def bounding_sids(own: str) -> tuple[str, ...]:
    """The identities of which one must be granted a write, the command's own first."""
    logon = logon_sid()
    return (own, *((logon,) if logon else ()), _EVERYONE)


def own_objects(sids: Sequence[str]) -> str:
    """Who may use what a command makes beside files, such as pipes to itself; in SDDL."""
    named = [sid for sid in sids if sid != _EVERYONE]
    return "D:" + "".join(f"(A;;GA;;;{sid})" for sid in (*named, user_sid(), "SY"))


@contextmanager
def restricted_token(own: str) -> Iterator[int]:
    """Make the token of a command that has an identity of its own."""
    sids = bounding_sids(own)
    with ExitStack() as stack:
        current = stack.enter_context(own_token())
        bounds = (SID_AND_ATTRIBUTES * len(sids))()
        for bound, sid in zip(bounds, sids, strict=True):
            bound.Sid = stack.enter_context(sid_of(sid))
        made = c_void_p()
        must(
            "CreateRestrictedToken",
            *(current, _FLAGS, 0, None, 0, None, len(sids), bounds, byref(made)),
        )
        stack.callback(call, "CloseHandle", made)
        descriptor = stack.enter_context(described(own_objects(sids)))
        default = TOKEN_DEFAULT_DACL()
        default.DefaultDacl = access_list(descriptor)
        must("SetTokenInformation", made, TokenDefaultDacl, byref(default), sizeof(default))
        yield made.value or 0
