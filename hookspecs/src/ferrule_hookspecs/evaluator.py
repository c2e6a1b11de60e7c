"""The one evaluator of sandbox policies: what a resolved policy says about an operation.

File tools ask it before they touch a file, approval questions and the reading of a command's errors
are worded by it, and what a backend enforces is compared with it. It speaks of files on disk, of
the network and of sockets of services outside; devices, `/proc` and the private temporary folder
that a backend gives a command are the backend's own affair.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, Literal

from ferrule_hookspecs.sandbox import Denial

if TYPE_CHECKING:
    from ferrule_hookspecs.sandbox import ResolvedPolicy

Operation = Literal["read", "write", "create", "remove", "rename", "connect", "connect_unix"]
"""What is to be done.

read: the content of a file or the names in a folder. write: the content of a file, which comes into
being where it is missing. create: a new name, be it of a file, a folder or a link. remove, rename:
a name, with what it stands for. connect: an address, as `host:port`. connect_unix: the socket of a
service outside of the sandbox.

read and write follow symbolic links; create, remove and rename concern the name itself.
"""

_OF_NAMES: Final = frozenset[Operation](("create", "remove", "rename"))


def decide(policy: ResolvedPolicy, operation: Operation, path: str) -> Denial | None:
    """Tell what a policy refuses; None when it allows the operation.

    Args:
        policy: The policy.
        operation: What is to be done.
        path: A path, the address for connect, or the path of the socket for connect_unix.
    """
    if policy.unconfined:
        return None
    if operation == "connect" or operation == "connect_unix":
        return _refused_connection(policy, operation, path)
    return decide_canonical(policy, operation, canonical(path, operation))


def canonical(path: str, operation: Operation) -> str:
    """Return the path an operation really works on, links followed as far as the path exists."""
    if operation not in _OF_NAMES:
        return os.path.realpath(path)
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name)


def decide_canonical(policy: ResolvedPolicy, operation: Operation, path: str) -> Denial | None:
    """Judge a canonical path by its letters alone, for callers that then follow no link."""
    if policy.unconfined:
        return None
    hidden = unreadable_place(policy, path)
    if hidden is not None:
        return Denial("read", f"{path} may not be read: {hidden} is kept from commands", path)
    if operation == "read":
        return _refusal_to_read(policy, path)
    reason = _refusal_to_write(policy, operation, path)
    return None if reason is None else Denial("write", reason, path)


def unreadable_place(policy: ResolvedPolicy, path: str) -> str | None:
    """The place that must not be read in which a canonical path lies."""
    return next((place for place in policy.deny_read if is_inside(path, place)), None)


def protected_place(policy: ResolvedPolicy, path: str) -> str | None:
    """The protected place of any writable root in which a canonical path lies."""
    places = (
        place for root in policy.writable_roots for place in (*root.read_only, *root.forbidden)
    )
    return next((place for place in places if is_inside(path, place)), None)


def is_inside(path: str, folder: str) -> bool:
    """Whether a canonical path is a folder or lies below it."""
    return path == folder or path.startswith(folder if folder == "/" else folder + "/")


def _refusal_to_read(policy: ResolvedPolicy, path: str) -> Denial | None:
    if policy.readable_roots is None:
        return None
    readable = (*policy.readable_roots, *(root.path for root in policy.writable_roots))
    if any(is_inside(path, root) for root in readable):
        return None
    return Denial("read", f"{path} may not be read: it lies outside of the readable folders", path)


def _refusal_to_write(policy: ResolvedPolicy, operation: Operation, path: str) -> str | None:
    if policy.mode == "read-only":
        return f"{path} may not be written: the sandbox is read-only"
    if not any(is_inside(path, root.path) for root in policy.writable_roots):
        return f"{path} may not be written: it lies outside of the writable folders"
    place = protected_place(policy, path)
    if place is not None:
        return f"{path} may not be written: {place} is protected"
    if operation in _OF_NAMES and any(
        path == root.path or path in root.pinned for root in policy.writable_roots
    ):
        return f"{path} may not be replaced or removed"
    return None


def _refused_connection(
    policy: ResolvedPolicy, operation: Operation, address: str
) -> Denial | None:
    if operation == "connect_unix":
        if os.path.realpath(address) in policy.unix_sockets:
            return None
        reason = f"{address} is a socket of a service outside of the sandbox"
        return Denial("network", reason, address)
    if policy.network:
        return None
    return Denial("network", f"the network is off in the sandbox, {address} is out of reach")
