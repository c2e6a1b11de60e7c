"""How a request travels: the seam between what is sent and the connection that carries it.

Two ways are offered. `DirectChannel` speaks HTTP/1.1 itself: it is ready 0.1 s earlier than httpx,
which counts in a program that is started for one question, and takes in a stream for a quarter of
the CPU. `HttpxChannel` is for everything that needs more, such as a proxy.
"""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit, urlunsplit

from ferrule_hookspecs.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from ferrule_wire.settings import ProviderSettings

_E = TypeVar("_E", bound=BaseException)
CONNECT_TIMEOUT_S: Final = 15.0
_SAFE_IN_PATH: Final = "/%:@!$&'()*+,;=~"


class ChannelError(Exception):
    """A channel could not carry a request; the cause says why in a few words."""


class UnreachableError(ChannelError):
    """There was no connection, so nothing was sent."""


class BrokenLineError(ChannelError):
    """The connection ended too early."""


class IdleLineError(ChannelError):
    """Nothing came for longer than the idle timeout."""


class CertificateError(ChannelError):
    """The server's certificate cannot be trusted."""


class Answer(Protocol):
    """An answer whose body is still to be read; iterate it once, and close it.

    Attributes:
        status: The HTTP status.
        headers: The headers, names in lower case.
    """

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Read the body, decoded, piece by piece as it arrives."""
        ...

    async def aclose(self) -> None:
        """Be done with the answer; a body read to its end leaves the connection open."""
        ...


class Channel(Protocol):
    """Sends requests to one URL."""

    async def post(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a request and await the head of the answer.

        Raises:
            ChannelError: There is no answer.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class Target(NamedTuple):
    """Where requests go.

    Attributes:
        parts: The URL, its path and query escaped.
        idle_timeout_s: How long to wait for more of an answer.
    """

    parts: SplitResult
    idle_timeout_s: float

    @property
    def url(self) -> str:
        """The URL."""
        return urlunsplit(self.parts)

    @property
    def shown_url(self) -> str:
        """The URL for messages: without query, user and password, which may be secret."""
        host = self.parts.netloc.rpartition("@")[2]
        return urlunsplit((self.parts.scheme, host, self.parts.path, "", ""))


def target_of(settings: ProviderSettings, method: str) -> Target:
    """Work out where requests go: to `method`, such as `responses`, below the base URL.

    Raises:
        ProviderError: `base_url` cannot be used.
    """
    parts = urlsplit(settings.base_url)
    try:
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_usable = False
    if not is_usable:
        raise ProviderError(
            f"`base_url` of the model provider {settings.name!r} is no http or https URL: "
            f"{settings.base_url!r}"
        )
    path = quote(f"{parts.path.rstrip('/')}/{method}", safe=_SAFE_IN_PATH)
    query = "&".join(filter(None, (parts.query, urlencode(settings.query_params))))
    parts = parts._replace(path=path, query=query, fragment="")
    return Target(parts, settings.stream_idle_timeout_s)


def make_channel(target: Target) -> Channel:
    """Make the channel that suits a target."""
    parts = target.parts
    if "@" in parts.netloc or not parts.netloc.isascii() or _has_proxy():
        from ferrule_wire.proxied import HttpxChannel

        return HttpxChannel(target)
    from ferrule_wire.direct import DirectChannel

    return DirectChannel(target)


def _has_proxy() -> bool:
    """Whether any proxy is configured; httpx then finds out which, and for what."""
    if any(name.lower().endswith("_proxy") and value for name, value in os.environ.items()):
        return True
    if sys.platform not in ("darwin", "win32"):
        return False
    from urllib.request import getproxies  # there, the system's settings count as well

    return bool(getproxies())


def plain_cause(error: BaseException) -> str:
    """Say in a few words why there is no connection."""
    if first_cause(error, ConnectionRefusedError):
        return "connection refused"
    unresolved = first_cause(error, socket.gaierror)
    if unresolved is not None:
        return f"the host's name is not known ({unresolved.strerror})"
    return str(error) or type(error).__name__


def first_cause(error: BaseException, type_: type[_E]) -> _E | None:
    """Find an error of a type among everything that led to another."""
    seen: list[BaseException] = [error]
    for found in seen:
        if isinstance(found, type_):
            return found
        inner = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        causes = (found.__cause__, found.__context__, *inner)
        seen.extend(cause for cause in causes if cause is not None and cause not in seen)
    return None
