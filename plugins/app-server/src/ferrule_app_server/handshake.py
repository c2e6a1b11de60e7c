"""The handshake: who the client is, what it wants, and who we are."""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import Final, NamedTuple, NotRequired, cast

from typing_extensions import TypedDict

from ferrule_hookspecs.serving import RpcError

PROTOCOL_VERSION: Final = "0.169.0"
"""The version of Codex whose protocol this is; clients read it off the front of `userAgent`."""
_FAMILIES: Final = {"win32": "windows"}
_SYSTEMS: Final = {"win32": "windows", "darwin": "macos"}


class Greeting(NamedTuple):
    """What a client said of itself.

    Attributes:
        name: Its name.
        version: Its version.
        experimental: Whether it may use what is experimental.
        opted_out: Notifications that it does not want.
        wants_extensions: Whether it wants to hear of what only Ferrule tells.
    """

    name: str
    version: str
    experimental: bool = False
    opted_out: frozenset[str] = frozenset()
    wants_extensions: bool = False


class ClientInfo(TypedDict):
    """The client."""

    name: str
    version: str
    title: NotRequired[str | None]


class Capabilities(TypedDict):
    """What the client can do and wants."""

    experimentalApi: NotRequired[bool | None]
    optOutNotificationMethods: NotRequired[list[str] | None]
    extensions: NotRequired[dict[str, object] | None]


class InitializeParams(TypedDict):
    """The parameters of `initialize`."""

    clientInfo: ClientInfo
    capabilities: NotRequired[Capabilities | None]


def greet(params: object, home: str) -> tuple[Greeting, dict[str, object]]:
    """Return what a client said and the reply to it.

    Raises:
        RpcError: It says too little or something of the wrong type.
    """
    from ferrule_app_server.params import validated

    given = cast("InitializeParams", validated(InitializeParams, params))
    client = given["clientInfo"]
    wanted = given.get("capabilities") or Capabilities()
    if not client["name"].strip():
        raise RpcError("Invalid request: `clientInfo.name` is empty")
    greeting = Greeting(
        client["name"],
        client["version"],
        bool(wanted.get("experimentalApi")),
        frozenset(wanted.get("optOutNotificationMethods") or ()),
        "ferrule" in (wanted.get("extensions") or {}),
    )
    return greeting, _reply(greeting, home)


@cache
def own_version() -> str:
    """Return the version of this distribution."""
    from importlib.metadata import version

    return version("ferrule-app-server")


def _reply(greeting: Greeting, home: str) -> dict[str, object]:
    system = f"{platform.system()} {platform.release()}; {platform.machine()}"
    return {
        "userAgent": (
            f"{greeting.name}/{PROTOCOL_VERSION} ({system}) ferrule/{own_version()}"
            f" ({greeting.name}; {greeting.version})"
        ),
        "serverInfo": {"name": "ferrule", "version": PROTOCOL_VERSION},
        "codexHome": home,
        "platformFamily": _FAMILIES.get(sys.platform, "unix"),
        "platformOs": _SYSTEMS.get(sys.platform, "linux"),
    }
