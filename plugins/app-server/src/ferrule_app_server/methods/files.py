"""`fs/*`: files of this machine, with the rights of the server and thus of its client.

No sandbox stands between: who may call these methods may also run programs without one. A path is
checked for being absolute and nothing else.
"""

from __future__ import annotations

import os
import shutil
import stat
from base64 import b64decode, b64encode
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from anyio.to_thread import run_sync

from ferrule_app_server.methods import file_shapes as shapes
from ferrule_app_server.methods.folders import absolute
from ferrule_hookspecs.serving import MESSAGE_LIMIT, RpcError, RpcMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_hookspecs.serving import RpcCall

_INTERNAL: Final = -32603
_READ_LIMIT: Final = MESSAGE_LIMIT // 2
"""What is read comes in one message, in base64."""

T = TypeVar("T")


async def _in_thread(work: Callable[[], T]) -> T:
    """Do something with files beside the event loop; failures become errors with their cause."""
    try:
        return await run_sync(work)
    except shutil.Error as error:
        raise RpcError(f"not everything could be copied: {error}", _INTERNAL) from None
    except OSError as error:
        raise RpcError(f"{error.strerror or error} (os error {error.errno})", _INTERNAL) from None


async def _read_file(call: RpcCall) -> Mapping[str, object]:
    data = await _in_thread(partial(_content, absolute(call.params["path"])))
    return {"dataBase64": b64encode(data).decode()}


def _content(path: str) -> bytes:
    if stat.S_ISFIFO(os.stat(path).st_mode):
        raise RpcError(f"{path} is a pipe, not a file")  # reading it might wait for ever
    with open(path, "rb") as file:
        data = file.read(_READ_LIMIT + 1)
    if len(data) > _READ_LIMIT:
        raise RpcError(f"{path} has more than {_READ_LIMIT} bytes, too many for one message")
    return data


async def _write_file(call: RpcCall) -> Mapping[str, object]:
    path = absolute(call.params["path"])
    try:
        data = b64decode(str(call.params["dataBase64"]), validate=True)
    except ValueError as error:
        raise RpcError(f"fs/writeFile requires valid base64 dataBase64: {error}") from None

    def write() -> None:
        with open(path, "wb") as file:
            file.write(data)

    await _in_thread(write)
    return {}


async def _create_directory(call: RpcCall) -> Mapping[str, object]:
    path = absolute(call.params["path"])
    if call.params.get("recursive") is False:
        await _in_thread(partial(os.mkdir, path))
    else:
        await _in_thread(partial(os.makedirs, path, exist_ok=True))
    return {}


async def _metadata(call: RpcCall) -> Mapping[str, object]:
    return await _in_thread(partial(_facts, absolute(call.params["path"])))


def _facts(path: str) -> dict[str, object]:
    is_link = os.path.islink(path)
    found = os.stat(path)
    created = getattr(found, "st_birthtime", 0.0)
    return {
        "isDirectory": stat.S_ISDIR(found.st_mode),
        "isFile": stat.S_ISREG(found.st_mode),
        "isSymlink": is_link,
        "createdAtMs": int(created * 1000),
        "modifiedAtMs": int(found.st_mtime * 1000),
    }


async def _read_directory(call: RpcCall) -> Mapping[str, object]:
    return {"entries": await _in_thread(partial(_entries, absolute(call.params["path"])))}


def _entries(path: str) -> list[shapes.DirectoryEntry]:
    with os.scandir(path) as entries:
        return [
            {
                "fileName": os.fsencode(entry.name).decode("utf-8", "replace"),
                "isDirectory": entry.is_dir(),
                "isFile": entry.is_file(),
            }
            for entry in sorted(entries, key=lambda entry: entry.name)
        ]


async def _remove(call: RpcCall) -> Mapping[str, object]:
    path = absolute(call.params["path"])
    is_recursive = call.params.get("recursive") is not False
    is_forced = call.params.get("force") is not False
    await _in_thread(partial(_removed, path, is_recursive=is_recursive, is_forced=is_forced))
    return {}


def _removed(path: str, *, is_recursive: bool, is_forced: bool) -> None:
    if os.path.realpath(path) == os.path.realpath("/"):
        raise RpcError("the root of all folders is not removed")
    try:
        if not os.path.isdir(path) or os.path.islink(path):
            os.unlink(path)
        elif is_recursive:
            shutil.rmtree(path)
        else:
            os.rmdir(path)
    except FileNotFoundError:
        if not is_forced:
            raise


async def _copy(call: RpcCall) -> Mapping[str, object]:
    source = absolute(call.params["sourcePath"])
    target = absolute(call.params["destinationPath"])
    await _in_thread(
        partial(_copied, source, target, is_recursive=bool(call.params.get("recursive")))
    )
    return {}


def _copied(source: str, target: str, *, is_recursive: bool) -> None:
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif not os.path.isdir(source):
        shutil.copy2(source, target)
    elif not is_recursive:
        raise RpcError("fs/copy requires recursive: true when sourcePath is a directory")
    elif _is_within(target, source):
        raise RpcError("fs/copy cannot copy a directory to itself or one of its descendants")
    else:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _is_within(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath((inner, outer)) == outer


METHODS: Final = (
    RpcMethod("fs/readFile", _read_file, shapes.PathParams, result=shapes.ReadFileResult),
    RpcMethod("fs/writeFile", _write_file, shapes.WriteFileParams, result=shapes.Nothing),
    RpcMethod(
        "fs/createDirectory",
        _create_directory,
        shapes.CreateDirectoryParams,
        result=shapes.Nothing,
    ),
    RpcMethod("fs/getMetadata", _metadata, shapes.PathParams, result=shapes.MetadataResult),
    RpcMethod(
        "fs/readDirectory", _read_directory, shapes.PathParams, result=shapes.ReadDirectoryResult
    ),
    RpcMethod("fs/remove", _remove, shapes.RemoveParams, result=shapes.Nothing),
    RpcMethod("fs/copy", _copy, shapes.CopyParams, result=shapes.Nothing),
)
