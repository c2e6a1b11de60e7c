"""Opens the view of a session: what it covers, by which mechanism, and what it goes on from."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ferrule_hookspecs.errors import FerruleError, SandboxUnavailableError, SessionRefusedError
from ferrule_overlay.batches import Batches
from ferrule_overlay.change import pending_changes
from ferrule_overlay.copied import CopiedLayer
from ferrule_overlay.mounted import MountedView
from ferrule_overlay.rewinding import Rewinds
from ferrule_overlay.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_overlay.layer import Mechanism
    from ferrule_overlay.shelf import Root

_FILE_NAMES: Final = frozenset({"config", "config.worktree", "commondir"})


def open_view(context: PluginContext, policy: ResolvedPolicy) -> MountedView | None:
    """Open the view of a session that wants one, or whose thread has pending changes.

    Raises:
        SessionRefusedError: It is wanted and cannot be had.
    """
    shelf = Shelf(context.home, context.thread_id)
    wanted = context.config.get("overlay") is True
    if not wanted and not shelf.exists:
        return None
    try:
        return _opened(shelf, context, policy, wanted=wanted)
    except (FerruleError, OSError) as error:
        raise SessionRefusedError(f"the overlay cannot be opened: {error}") from error


def _opened(
    shelf: Shelf, context: PluginContext, policy: ResolvedPolicy, *, wanted: bool
) -> MountedView | None:
    roots = covered_folders(policy)
    _check_places(roots, os.path.realpath(context.home))
    lock = shelf.lock()
    try:
        Batches(shelf).recover()
        Rewinds(shelf).settle()
        changes = pending_changes(shelf)
        if changes:
            _go_on(shelf, policy.cwd)
            context.warn(
                f"this thread has {len(changes)} pending changes, which only it can see; look at"
                f" them with: ferrule changes {shelf.thread_id}"
            )
            return _mounted(shelf, policy, lock)
        if wanted:
            return _begun(shelf, policy, roots, lock)
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def covered_folders(policy: ResolvedPolicy) -> list[str]:
    """The folders to cover: all that may be written, the working directory first."""
    named = [policy.cwd, *(root.path for root in policy.writable_roots)]
    return [
        path
        for path in dict.fromkeys(named)
        if not any(path != other and _is_inside(path, other) for other in named)
    ]


def _check_places(roots: Sequence[str], home: str) -> None:
    for root in roots:
        if _is_inside(home, root):
            raise SandboxUnavailableError(
                f"Ferrule's home {home} lies in {root}, which it would have to cover; work in"
                " another folder, or set FERRULE_HOME to another place"
            )


def _go_on(shelf: Shelf, cwd: str) -> None:
    """Go on from pending changes: what they touch stays as it was known."""
    about = shelf.about
    if about is not None and not any(_is_inside(cwd, root) for root in about.roots):
        raise SandboxUnavailableError(
            f"the thread has pending changes in {about.roots[0]}, and {cwd} is another folder;"
            f" take them over or discard them with: ferrule changes {shelf.thread_id}"
        )
    for root in shelf.roots:
        root.base.take(keep=list(root.layer.touched()))


def _begun(shelf: Shelf, policy: ResolvedPolicy, roots: Sequence[str], lock: int) -> MountedView:
    """Begin a new view, by an overlay where that can be mounted, by a copy where not."""
    try:
        _lay_out(shelf, policy, roots, "overlayfs")
        return _mounted(shelf, policy, lock)
    except SandboxUnavailableError as failed:
        _lay_out(shelf, policy, roots, "copy")
        try:
            return _mounted(shelf, policy, lock)
        except SandboxUnavailableError as error:
            raise SandboxUnavailableError(
                f"neither an overlay ({failed}) nor a copy ({error}) can be mounted here; user"
                " namespaces may be switched off (sysctl kernel.unprivileged_userns_clone,"
                " kernel.apparmor_restrict_unprivileged_userns)"
            ) from error


def _lay_out(
    shelf: Shelf, policy: ResolvedPolicy, roots: Sequence[str], mechanism: Mechanism
) -> None:
    if mechanism == "overlayfs":
        _check_mounts(roots)
    shelf.lay_out(policy.cwd, roots, mechanism)
    for root in shelf.roots:
        root.base.take()
        if isinstance(root.layer, CopiedLayer):
            root.layer.make()


def _check_mounts(roots: Sequence[str]) -> None:
    """An overlay does not show what is mounted below the folder it covers."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = [line.split(" ")[4] for line in file]
    for point in points:
        place = point.encode(errors="surrogateescape").decode("unicode_escape")
        for root in roots:
            if place != root and _is_inside(place, root):
                raise SandboxUnavailableError(f"{place} is mounted in the workspace")


def _mounted(shelf: Shelf, policy: ResolvedPolicy, lock: int) -> MountedView:
    for root in shelf.roots:
        _stand_in(root, policy)
    return MountedView(shelf, lock)


def _stand_in(root: Root, policy: ResolvedPolicy) -> None:
    """Put empty things below the overlay for protected names that are missing.

    A sandbox mounts something on such a name for the time of a command. An overlay that has once
    been asked for a name that was not there goes on saying so, and the mount would fail.
    """
    below = os.path.join(root.folder, "below")
    for path in (path for each in policy.writable_roots for path in each.forbidden):
        if not _is_inside(path, root.path) or path == root.path:
            continue
        place = os.path.join(below, os.path.relpath(path, root.path))
        with suppress(FileExistsError, NotADirectoryError):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if os.path.basename(path) not in _FILE_NAMES:
                os.mkdir(place)
                continue
            with open(place, "x", encoding="utf-8", errors="surrogateescape") as file:
                # A git folder that names itself as the common one is as it is without the file.
                file.write(os.path.dirname(path) if place.endswith("/commondir") else "")
            os.chmod(place, stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IROTH)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
