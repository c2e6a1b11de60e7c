"""What the server tells about itself: its switches, its modes, its state."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final, Literal, NotRequired, cast

from typing_extensions import TypedDict

from ferrule_app_server.methods.pagination import page
from ferrule_hookspecs.serving import RpcMethod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.serving import RpcCall


class NoParams(TypedDict):
    """Nothing to say."""


class FeatureListParams(TypedDict):
    """Which part of the list."""

    cursor: NotRequired[str | None]
    limit: NotRequired[int | None]
    threadId: NotRequired[str | None]


class Feature(TypedDict):
    """A switch of the table `features`."""

    name: str
    stage: Literal["beta"]
    displayName: str | None
    description: str | None
    announcement: str | None
    enabled: bool
    defaultEnabled: bool


class FeatureListResult(TypedDict):
    """The switches that somebody set."""

    data: list[Feature]
    nextCursor: str | None


class EnablementParams(TypedDict):
    """Switches to set while the server runs."""

    enablement: dict[str, bool]


class EnablementResult(TypedDict):
    """The switches that were set."""

    enablement: dict[str, bool]


class Mode(TypedDict):
    """A way of working together that a client may offer."""

    name: str
    mode: Literal["default"]
    model: str | None
    reasoning_effort: str | None


class ModeListResult(TypedDict):
    """The ways of working together."""

    data: list[Mode]


class Gauge(TypedDict):
    """One number."""

    name: str
    value: int


class ServerProcess(TypedDict):
    """The process of the server."""

    id: int
    residentMemoryBytes: int | None
    physicalFootprintBytes: int | None


class DiagnosticsResult(TypedDict):
    """How the server is."""

    gauges: list[Gauge]
    process: ServerProcess


async def _features(call: RpcCall) -> Mapping[str, object]:
    switches = cast("Mapping[str, object]", call.config.get("features", {}))
    features: list[Feature] = [
        {
            "name": name,
            "stage": "beta",
            "displayName": None,
            "description": None,
            "announcement": None,
            "enabled": value is True,
            "defaultEnabled": False,
        }
        for name, value in sorted(switches.items())
    ]
    return page(features, call.params)


async def _enable(call: RpcCall) -> Mapping[str, object]:
    """No switch can be set beside the configuration, so none was."""
    return {"enablement": {}}


async def _modes(call: RpcCall) -> Mapping[str, object]:
    mode: Mode = {"name": "Default", "mode": "default", "model": None, "reasoning_effort": None}
    return {"data": [mode]}


async def _diagnostics(call: RpcCall) -> Mapping[str, object]:
    return {
        "gauges": [{"name": "tasks", "value": len(asyncio.all_tasks())}],
        "process": {
            "id": os.getpid(),
            "residentMemoryBytes": _resident_bytes(),
            "physicalFootprintBytes": None,
        },
    }


def _resident_bytes() -> int | None:
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


METHODS: Final = (
    RpcMethod("experimentalFeature/list", _features, FeatureListParams, result=FeatureListResult),
    RpcMethod(
        "experimentalFeature/enablement/set", _enable, EnablementParams, result=EnablementResult
    ),
    RpcMethod("collaborationMode/list", _modes, NoParams, experimental=True, result=ModeListResult),
    RpcMethod(
        "server/diagnostics", _diagnostics, NoParams, experimental=True, result=DiagnosticsResult
    ),
)
