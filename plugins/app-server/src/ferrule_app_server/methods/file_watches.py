"""`fs/watch`: tells a client what changes in a file or folder.

One look at a time stamp every fifth of a second, rather than the watching of the system: clients
watch a few single places, for which the answers differ least so (a file that is replaced, one that
does not exist yet, a network drive), and nothing is held open.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from anyio.to_thread import run_sync

from ferrule_app_server.methods import file_shapes as shapes
from ferrule_app_server.methods.folders import absolute
from ferrule_app_server.methods.per_client import PerClient
from ferrule_hookspecs.serving import RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_hookspecs.serving import RpcCall

_LOOK_S: Final = 0.2
_MOST_WATCHES: Final = 256
_MOST_ENTRIES: Final = 20_000


class _Stamp(NamedTuple):
    """What a change of a path shows in."""

    modified_ns: int
    size: int
    inode: int


_Look = dict[str, _Stamp]


class Watches:
    """What one client watches, by its names for it."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._paths: dict[str, tuple[str, _Look]] = {}
        self._is_running = False

    def add(self, name: str, path: str, now: _Look) -> None:
        """Watch a path.

        Raises:
            RpcError: The name is taken, or there are too many.
        """
        if name in self._paths:
            raise RpcError(f"watchId already exists: {name}")
        if len(self._paths) >= _MOST_WATCHES:
            raise RpcError(f"there are {_MOST_WATCHES} watches already; end some with fs/unwatch")
        self._paths[name] = path, now

    def remove(self, name: str) -> None:
        """Watch no more; nothing happens where there is no such watch."""
        self._paths.pop(name, None)

    async def run(self, tell: Callable[[str, list[str]], None]) -> None:
        """Look until nothing is watched any more; called where `is_idle`."""
        self._is_running = True
        try:
            while self._paths:
                await anyio.sleep(_LOOK_S)
                for name, (path, before) in list(self._paths.items()):
                    now = await run_sync(look, path)
                    if now != before and name in self._paths:
                        self._paths[name] = path, now
                        tell(name, _differences(before, now))
        finally:
            self._is_running = False

    @property
    def is_idle(self) -> bool:
        """Whether nobody looks."""
        return not self._is_running

    async def aclose(self) -> None:
        """Watch nothing any more."""
        self._paths.clear()


def look(path: str) -> _Look:
    """Return the state of a path and, of a folder, of what lies in it."""
    found: _Look = {}
    try:
        _note(found, path, os.stat(path))
        if os.path.isdir(path):
            with os.scandir(path) as entries:
                for entry, _ in zip(entries, range(_MOST_ENTRIES), strict=False):
                    _note(found, entry.path, entry.stat(follow_symlinks=False))
            # Its own time stamp says nothing that its entries do not.
            found[path] = found[path]._replace(modified_ns=0, size=0)
    except OSError:
        return found  # what is gone, or going, has no state
    return found


def _note(found: _Look, path: str, stat: os.stat_result) -> None:
    found[path] = _Stamp(stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _differences(before: _Look, now: _Look) -> list[str]:
    return sorted(path for path in {*before, *now} if before.get(path) != now.get(path))


_watches = PerClient(Watches)


async def _watch(call: RpcCall) -> Mapping[str, object]:
    path = await run_sync(os.path.realpath, absolute(call.params["path"]))
    watches = _watches.of(call.client)
    watches.add(str(call.params["watchId"]), path, await run_sync(look, path))

    def tell(name: str, paths: list[str]) -> None:
        call.client.notify("fs/changed", {"watchId": name, "changedPaths": paths})

    async def run() -> None:
        if watches.is_idle:
            await watches.run(tell)

    if watches.is_idle:
        call.client.start_soon(run)
    return {"path": path}


async def _unwatch(call: RpcCall) -> Mapping[str, object]:
    _watches.of(call.client).remove(str(call.params["watchId"]))
    return {}


METHODS: Final = (
    RpcMethod(
        "fs/watch",
        _watch,
        shapes.WatchParams,
        result=shapes.WatchResult,
        notifications={"fs/changed": shapes.ChangedParams},
    ),
    RpcMethod("fs/unwatch", _unwatch, shapes.UnwatchParams, result=shapes.Nothing),
)
