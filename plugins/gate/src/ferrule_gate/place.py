"""The address in an endpoint's URL, and a socket that listens there."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import FerruleError

_BACKLOG: Final = 256


class PlaceError(FerruleError):
    """An endpoint's URL cannot be listened at."""


class Place(NamedTuple):
    """A TCP address; port 0 takes a free one."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def url(self, scheme: str) -> str:
        """Return it as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Tell whether a host, as it is written, is this machine and no other."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


def parse_place(url: str, scheme: str) -> Place:
    """Read the URL of an endpoint such as `ws://127.0.0.1:0`.

    Raises:
        PlaceError: It is no such URL, or its host is a name other than `localhost`.
    """
    wanted = f"{scheme}://IP:PORT, such as {scheme}://127.0.0.1:0"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise PlaceError(f"cannot listen at {url!r}: {error}; write {wanted}") from error
    if parts.scheme == f"{scheme}s":
        raise PlaceError(
            f"cannot listen at {url!r}: encryption is the work of a proxy in front; write {wanted}"
        )
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme != scheme or host is None or port is None or any(rest):
        raise PlaceError(f"cannot listen at {url!r}: write {wanted}")
    if host == "localhost":
        return Place("127.0.0.1", port)
    try:
        return Place(str(ipaddress.ip_address(host)), port)
    except ValueError as error:
        raise PlaceError(
            f"cannot listen at {url!r}: {host!r} is no IP address; write {wanted}"
        ) from error


def listen(place: Place) -> tuple[socket.socket, Place]:
    """Listen at a place; returns the socket and the place with its real port.

    Raises:
        PlaceError: The system refuses.
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    # The protocol is named, for asyncio has small writes wait (Nagle, 40 ms) where it is not.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((place.host, place.port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PlaceError(
            f"cannot listen at port {place.port} of {place.host}: {error.strerror or error}; "
            "choose another port, or 0 for any that is free"
        ) from error
    return listener, Place(place.host, listener.getsockname()[1])
