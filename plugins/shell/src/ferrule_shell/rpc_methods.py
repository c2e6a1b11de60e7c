"""What clients of a server may ask about the commands that a thread left running."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NotRequired

from typing_extensions import TypedDict

from ferrule_hookspecs.serving import RpcCall, RpcMethod
from ferrule_shell.terminals import background_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_shell.running import RunningCommand

_PREFIX: Final = "thread/backgroundTerminals"


class ThreadParams(TypedDict):
    """The thread meant."""

    threadId: str


class ListParams(ThreadParams):
    """The thread meant; the list is never so long that it needs pages."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]


class TerminateParams(ThreadParams):
    """The command meant, by the number that its item carries."""

    processId: str


class BackgroundTerminal(TypedDict):
    """A command that runs on."""

    itemId: str
    processId: str
    command: str
    cwd: str


class ListResult(TypedDict):
    """The commands of a thread that run on, oldest first."""

    data: list[BackgroundTerminal]
    nextCursor: str | None


class CleanResult(TypedDict):
    """Nothing."""


class TerminateResult(TypedDict):
    """Whether there was such a command."""

    terminated: bool


async def _list(call: RpcCall) -> Mapping[str, object]:
    found = [_described(command) for command in _running(call)]
    return {"data": found, "nextCursor": None}


async def _clean(call: RpcCall) -> Mapping[str, object]:
    for command in _running(call):
        command.kill()
    return {}


async def _terminate(call: RpcCall) -> Mapping[str, object]:
    number = call.params["processId"]
    found = [command for command in _running(call) if str(command.session_id) == number]
    for command in found:
        command.kill()
    return {"terminated": bool(found)}


def _running(call: RpcCall) -> list[RunningCommand]:
    return background_of(str(call.params["threadId"]))


def _described(command: RunningCommand) -> BackgroundTerminal:
    return {
        "itemId": command.item["id"],
        "processId": str(command.session_id),
        "command": shlex.split(command.item["command"])[-1],
        "cwd": command.item["cwd"],
    }


METHODS: Final = (
    RpcMethod(f"{_PREFIX}/list", _list, ListParams, experimental=True, result=ListResult),
    RpcMethod(f"{_PREFIX}/clean", _clean, ThreadParams, experimental=True, result=CleanResult),
    RpcMethod(
        f"{_PREFIX}/terminate",
        _terminate,
        TerminateParams,
        experimental=True,
        result=TerminateResult,
    ),
)
