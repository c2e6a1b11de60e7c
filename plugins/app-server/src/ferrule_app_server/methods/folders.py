"""Which configuration holds for a folder a client names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from ferrule_hookspecs.serving import RpcError

if TYPE_CHECKING:
    from ferrule_hookspecs.host import Config
    from ferrule_hookspecs.serving import RpcCall


def folder(call: RpcCall, cwd: object) -> str:
    """Return the folder a client means; a relative one starts at the server's own."""
    base = call.request.cwd
    return base if not isinstance(cwd, str) else os.path.normpath(os.path.join(base, _path(cwd)))


async def config_at(call: RpcCall, cwd: object) -> Config:
    """Read the configuration that holds in a folder."""
    where = folder(call, cwd)
    if where == call.request.cwd:
        return call.config
    return await run_sync(call.kernel.config, call.request._replace(cwd=where))


def absolute(path: object) -> str:
    """Return an absolute path as it came.

    Raises:
        RpcError: It is relative, and there is nothing it could start at.
    """
    text = str(path)
    if not os.path.isabs(text):
        raise RpcError(f"Invalid request: the path {text!r} is not absolute")
    return _path(text)


def _path(text: str) -> str:
    if "\0" in text:
        raise RpcError("Invalid request: a path cannot hold a NUL character")
    return text
