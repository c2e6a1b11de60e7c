"""Hosts and origins: keeps out pages in a browser that reach for this machine.

A page can open connections to addresses of this machine. What it cannot do is lie about its origin,
nor, where it has its own name resolve to this machine (DNS rebinding), about the host it asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ferrule_gate.place import is_loopback
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Guard(NamedTuple):
    """Whom a browser may speak for, and which names this server goes by.

    Attributes:
        origins: Origins of pages that may connect; those of all others may not.
        hosts: Names this server has beside those of the loopback interface; None asks for none.
        is_open: Whether others can reach it, so that its own address is a name of it too.
    """

    origins: Sequence[str] = ()
    hosts: Sequence[str] | None = ()
    is_open: bool = False

    def allows_origin(self, values: Sequence[str]) -> bool:
        """Tell whether a request with these `Origin` headers may come in."""
        return all(_origin(value) in self.origins for value in values) and len(values) < 2

    def allows_host(self, values: Sequence[str], local_address: str) -> bool:
        """Tell whether a request with these `Host` headers is meant for this server.

        Args:
            values: The headers; there must be one.
            local_address: The address of ours that the client reached.
        """
        if self.hosts is None:
            return True
        host = _hostname(values[0]) if len(values) == 1 else None
        if host is None:
            return False
        return is_loopback(host) or host in self.hosts or (self.is_open and host == local_address)


def make_guard(origins: Sequence[str], hosts: Sequence[str], *, is_open: bool, where: str) -> Guard:
    """Make a guard from configured values; raises `ConfigError` for what never matches."""
    for origin in origins:
        parts = urlsplit(origin)
        if not parts.scheme or not parts.netloc or parts.path or parts.query:
            raise ConfigError(
                f"{where}.allowed_origins has {origin!r}; write the scheme, the host and the port "
                "alone, such as 'http://localhost:3000'"
            )
    return Guard(
        tuple(_origin(origin) for origin in origins), tuple(host.lower() for host in hosts), is_open
    )


def _origin(value: str) -> str:
    return value.strip().lower()


def _hostname(value: str) -> str | None:
    try:
        parts = urlsplit(f"//{value.strip()}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.hostname and not parts.path and "@" not in value else None
