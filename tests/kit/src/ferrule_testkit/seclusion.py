"""Tests of a plugin see neither the home of whoever runs them nor other machines.

A pytest plugin of its own, which `ferrule_testkit.plugin` registers where the project under test
declares a plugin of Ferrule, or where `ferrule_seclusion = true` says so.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_FORGOTTEN: Final = ("FERRULE_", "CODEX_", "OPENAI_", "ANTHROPIC_")
_FOLDERS: Final = {
    "HOME": "",
    "USERPROFILE": "",
    "FERRULE_HOME": ".ferrule",
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_LOCAL_NAMES: Final = ("", "localhost", "localhost.localdomain")


class NetworkBlockedError(RuntimeError):
    """A test wanted to reach another machine.

    No `OSError`, so that a plugin does not take it for a network that happens to be down.
    """


@pytest.fixture(autouse=True)
def _temporary_home(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if request.node.get_closest_marker("ferrule_real_home") is not None:
        return
    for name in list(os.environ):
        if name.startswith(_FORGOTTEN):
            monkeypatch.delenv(name)
    home: Path = tmp_path_factory.mktemp("home")
    for name, place in _FOLDERS.items():
        monkeypatch.setenv(name, str(home / place))


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("ferrule_network") is not None:
        return
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _checked(getattr(socket.socket, name)))
    sendto, look_up = socket.socket.sendto, socket.getaddrinfo

    def guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        _check(rest[-1])
        return sendto(self, data, *rest)

    def guarded_look_up(host: Any, *rest: Any, **options: Any) -> Any:
        _check((host, None))
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket.socket, "sendto", guarded_sendto)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


def _checked(method: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        _check(address)
        return method(self, address)

    return guarded


def _check(address: object) -> None:
    """Refuse an address that is not on this machine; unix sockets are."""
    if not isinstance(address, tuple):
        return
    host = cast("tuple[object, ...]", address)[0]
    text = host.decode() if isinstance(host, bytes) else str(host or "")
    if text.lower() in _LOCAL_NAMES or _is_loopback(text):
        return
    raise NetworkBlockedError(
        f"this test wants to reach {text!r}, but tests of Ferrule plugins have no network; use the"
        " fixture `model_server` or a server on 127.0.0.1, or mark the test with"
        " @pytest.mark.ferrule_network"
    )


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
