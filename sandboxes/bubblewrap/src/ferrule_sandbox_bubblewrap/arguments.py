"""What a resolved policy is in bubblewrap's words.

The order counts: later mounts cover earlier ones. What may be read, then the writable roots, outer
ones first, then fresh `/dev` and `/proc`, then what is protected inside the roots, and last what
must not be reached at all, with the sockets in it that may be.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ferrule_confinement.program_places import is_shown
from ferrule_confinement.scratch import has_scratch, with_scratch
from ferrule_sandbox_bubblewrap.reach import is_reachable, is_socket
from ferrule_sandbox_bubblewrap.readable_view import sealing_arguments, view_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy

_NAMESPACES: Final = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
# Root keeps its rights on these even without capabilities, because the kernel asks for the user
# and not for a capability.
_KERNEL_SETTINGS: Final = tuple(
    f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "acpi", "scsi", "fs")
)
_OWN_PLACES: Final = ("/dev", "/proc")
_SCRATCH: Final = "/dev/shm"  # noqa: S108  # private to the sandbox: it lies on its own /dev


@dataclass(frozen=True, slots=True)
class View:
    """What a command sees of the file system, beside its policy.

    Attributes:
        protected: Existing paths that are mounted read-only, stand-ins included.
        sockets: Sockets of services, each covered.
        socket_folders: Folders of such sockets, covered as a whole.
        is_root: Whether the kernel's process belongs to root.
    """

    protected: Sequence[str] = ()
    sockets: Sequence[str] = ()
    socket_folders: Sequence[str] = ()
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)


def sandbox_arguments(policy: ResolvedPolicy, cwd: str, view: View) -> list[str]:
    """Build the arguments that confine a command."""
    words = [*_NAMESPACES, "--die-with-parent"]
    if not policy.network:
        words.append("--unshare-net")
    words += view_arguments(policy)
    for root in sorted((root.path for root in policy.writable_roots), key=_depth):
        if not _is_covered(root, _OWN_PLACES):
            words += ["--bind", root, root]
    words += ["--dev", "/dev", "--proc", "/proc"]
    words += _kernel_arguments(view)
    pinned = {path for root in policy.writable_roots for path in root.pinned}
    pinned = {path for path in pinned if not _is_covered(path, view.protected)}
    for path in sorted(pinned | set(view.protected), key=_depth):
        words += ["--bind" if path in pinned else "--ro-bind", path, path]
    words += _covered(view, policy)
    words += sealing_arguments(policy, cwd)
    words += ["--chdir", cwd, "--cap-drop", "ALL"]
    return words


def environment_arguments(policy: ResolvedPolicy, env: Mapping[str, str]) -> list[str]:
    """Set the command's environment.

    bubblewrap itself runs with an empty one, so that nothing in it, such as `LD_PRELOAD`, takes
    effect outside of the sandbox. Where no temporary folder can be written, a private one is named.
    """
    is_served = has_scratch(policy, env, _SCRATCH)
    values = env if is_served else with_scratch(env, _SCRATCH)
    words: list[str] = []
    for name, value in values.items():
        words += ["--setenv", name, value]
    return words


def _kernel_arguments(view: View) -> list[str]:
    if not view.is_root:
        return []
    words: list[str] = []
    for path in _present(_KERNEL_SETTINGS):
        words += ["--ro-bind", path, path]
    return words


def _covered(view: View, policy: ResolvedPolicy) -> list[str]:
    """Cover what must not be reached: folders by an empty one, files by an unusable device."""
    words: list[str] = []
    denied = [path for path in policy.deny_read if not _is_covered(path, _OWN_PLACES)]
    hidden = [path for path in (*denied, *view.socket_folders) if is_shown(policy, path)]
    allowed = [path for path in policy.unix_sockets if is_socket(path) and is_reachable(path)]
    for path in sorted(hidden, key=_depth):
        if _is_covered(os.path.dirname(path), hidden):
            continue
        words += _cover(path, [socket for socket in allowed if _is_covered(socket, (path,))])
    for path in view.sockets:
        is_open = path in policy.unix_sockets or not is_shown(policy, path)
        if not is_open and not _is_covered(path, (*denied, *view.socket_folders, *_OWN_PLACES)):
            words += ["--ro-bind", "/dev/null", path]
    for path in allowed:
        is_replaced = _is_covered(path, _OWN_PLACES) or not is_shown(policy, path)
        if is_replaced and not _is_covered(path, hidden):
            words += _shown(path)
    return words


def _cover(path: str, sockets: Sequence[str]) -> list[str]:
    if not os.path.isdir(path):
        return [] if sockets else ["--ro-bind", "/dev/null", path]
    words = ["--perms", "111" if sockets else "000", "--tmpfs", path]
    for socket in sockets:
        words += _shown(socket)
    return [*words, "--remount-ro", path]


def _shown(path: str) -> list[str]:
    """Connecting to a socket writes no file."""
    return ["--ro-bind-try", path, path]


def _is_covered(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _present(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(path)]


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
