"""What a container sees of this machine: the mounts that a resolved policy means.

Mounts are fixed when a container is made. Two policies that mean the same view share a container;
another view, or another file where one was mounted, needs a new one.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import SandboxUnavailableError
from ferrule_hookspecs.evaluator import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ferrule_hookspecs.sandbox import ResolvedPolicy

SCRATCH: Final = "/tmp"  # noqa: S108  # the container's own
_OF_THE_IMAGE: Final = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin"),
    *("/sys", "/usr"),
)
_ENGINE_SOCKETS: Final = (
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
)
_MOUNTS: Final = "/proc/self/mountinfo"
_POINT_FIELD: Final = 4
_SOCKETS: Final = "/proc/net/unix"
_PATH_FIELD: Final = 7


@dataclass(frozen=True, slots=True)
class View:
    """What is mounted.

    Attributes:
        writable: Folders that may be written, under their own path.
        readable: Folders and files that may be read, under their own path.
        mounts: More of them, host path and path inside.
        pinned: Folders in writable ones that must stay where they are.
        protected: Places in writable folders that stay read-only, missing ones included.
        links: Symbolic links in writable folders that must stay what they are.
        masked: Files and folders that must not be read.
        sockets: Sockets of services that may be connected to.
        network: Whether there is a network.
        processes: Bound on processes.
        memory: Bound on memory in bytes.
    """

    writable: tuple[str, ...]
    readable: tuple[str, ...]
    mounts: tuple[tuple[str, str], ...] = ()
    pinned: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    masked: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    network: bool = False
    processes: int | None = None
    memory: int | None = None

    def shows(self, path: str) -> bool:
        """Whether a canonical path is this machine's inside, too."""
        return any(is_inside(path, place) for place in (*self.writable, *self.readable))


def make_view(
    policy: ResolvedPolicy,
    folders: Sequence[str],
    mounts: Sequence[tuple[str, str]],
    environ: Mapping[str, str],
) -> View:
    """Say what a policy means for a container.

    Args:
        policy: The policy.
        folders: What may be read where the policy names no readable folders.
        mounts: What the configuration adds.
        environ: Says where the engine's socket is.

    Raises:
        SandboxUnavailableError: Something that must be seen cannot be.
    """
    writable = tuple(sorted(root.path for root in policy.writable_roots if root.path != SCRATCH))
    named = folders if policy.readable_roots is None else policy.readable_roots
    readable = _outermost(
        path
        for path in (os.path.realpath(folder) for folder in named)
        if os.path.exists(path)
        and not _is_of_the_image(path)
        and path != SCRATCH
        and not any(is_inside(path, root) for root in writable)
    )
    for path in (*writable, *readable):
        _refuse_system(path)
    kept = {
        path
        for root in policy.writable_roots
        for path in (*root.read_only, *root.forbidden)
        if root.path != SCRATCH or any(is_inside(path, other) for other in writable)
    }
    links = {path: os.readlink(path) for path in kept if os.path.islink(path)}
    protected = tuple(sorted(kept - links.keys()))
    seen = (*writable, *readable, *(source for source, _ in mounts))
    _refuse_engine(seen, policy.unix_sockets, environ)
    hidden = [*policy.deny_read, *_open_sockets(seen, policy.unix_sockets)]
    return View(
        writable=writable,
        readable=tuple(sorted({*readable, *_mounted_below(readable, protected, writable)})),
        mounts=(*mounts, *_mounted_in(mounts)),
        pinned=tuple(
            path
            for path in sorted({path for root in policy.writable_roots for path in root.pinned})
            if _is_in(path, writable) and not _is_in(path, protected)
        ),
        protected=protected,
        links=tuple(sorted(links.items())),
        masked=_outermost(path for path in hidden if _is_in(path, seen)),
        sockets=tuple(sorted(policy.unix_sockets)),
        network=policy.network,
        processes=policy.max_processes,
        memory=policy.max_memory_bytes,
    )


def identities(view: View) -> dict[str, tuple[int, int] | None]:
    """Tell what lies where something is mounted: a mount is of a file, not of its name."""
    found: dict[str, tuple[int, int] | None] = {}
    sources = (source for source, _ in view.mounts)
    for path in (*view.writable, *view.readable, *view.pinned, *view.protected, *view.masked):
        found[path] = _identity(path)
    for path in sources:
        found[path] = _identity(path)
    return found


def _identity(path: str) -> tuple[int, int] | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _refuse_system(path: str) -> None:
    """A place that every image has its own of cannot be shared under its own path."""
    if path == "/" or path in ("/home", "/root", "/var") or _is_of_the_image(path):
        raise SandboxUnavailableError(
            f"{path} cannot be shared with a container; work in a folder of its own"
        )


def _refuse_engine(seen: Iterable[str], sockets: Iterable[str], environ: Mapping[str, str]) -> None:
    """Who reaches the engine's socket has the rights of the engine."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    named = [environ.get(name, "") for name in ("DOCKER_HOST", "CONTAINER_HOST")]
    engines = [
        *_ENGINE_SOCKETS,
        *(f"{runtime}/{name}" for name in ("podman/podman.sock", "docker.sock") if runtime),
        *(address.removeprefix("unix://") for address in named if address.startswith("unix://")),
    ]
    for engine in {os.path.realpath(path) for path in engines}:
        for path in (*seen, *sockets):
            if is_inside(engine, os.path.realpath(path)):
                raise SandboxUnavailableError(
                    f"{path} cannot be shared with a container: the engine's socket {engine} is"
                    " in it"
                )


def _open_sockets(seen: Iterable[str], granted: Iterable[str]) -> list[str]:
    """Sockets of services in what is seen: a read-only mount does not keep them from use."""
    try:
        with open(_SOCKETS, "rb") as table:
            lines = table.read().splitlines()[1:]
    except OSError:
        return []
    places, allowed = tuple(seen), {os.path.realpath(path) for path in granted}
    found: set[str] = set()
    for fields in (line.split(None, _PATH_FIELD) for line in lines):
        if len(fields) > _PATH_FIELD and fields[_PATH_FIELD].startswith(b"/"):
            path = os.path.realpath(os.fsdecode(fields[_PATH_FIELD]))
            if _is_in(path, places) and path not in allowed and _is_socket(path):
                found.add(path)
    return sorted(found)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def _mounted_below(
    readable: Iterable[str], protected: Iterable[str], writable: Iterable[str]
) -> list[str]:
    """What is mounted in a read-only place keeps its own rights unless it is mounted so itself."""
    places, free = (*readable, *protected), tuple(writable)
    return [
        point
        for point in _mount_points()
        if any(is_inside(point, place) and point != place for place in places) and point not in free
    ]


def _mounted_in(mounts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [
        (point, target + point.removeprefix(source))
        for source, target in mounts
        for point in _mount_points()
        if is_inside(point, source) and point != source
    ]


def _mount_points() -> list[str]:
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return [_unescaped(line.split()[_POINT_FIELD]) for line in file]
    except OSError:
        return []


def _unescaped(path: str) -> str:
    for code in ("040", "011", "012", "134"):
        path = path.replace(f"\\{code}", chr(int(code, 8)))
    return path


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _is_in(path, kept):
            kept.append(path)
    return tuple(kept)


def _is_in(path: str, places: Iterable[str]) -> bool:
    return any(is_inside(path, place) for place in places)


def _is_of_the_image(path: str) -> bool:
    return any(is_inside(path, place) for place in _OF_THE_IMAGE)
