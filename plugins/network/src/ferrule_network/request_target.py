"""What a request to the proxy is about, and everything about it that could be read in two ways.

h11 has parsed the request by its strict grammar. What is left to refuse here is what two programs
might understand differently: two lengths, two hosts, a user name before the host.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ferrule_network.host import Host, TargetError, split_authority
from ferrule_network.rule import METHOD, Target

if TYPE_CHECKING:
    import h11

_ABSOLUTE: Final = re.compile(r"http://([^/?#]*)(/[^#]*|\?[^#]*|)", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"/[^#]*")
_HTTPS: Final = re.compile(r"https://", re.IGNORECASE)
_WEB_PORT: Final = 80


class ProxyRequest(NamedTuple):
    """A request in its only meaning.

    Attributes:
        target: What it is about.
        path: Path and query for the host; empty for a tunnel.
        is_chunked: Whether a body comes in chunks.
        length: The length of a body that does not; None for no body.
    """

    target: Target
    path: bytes = b""
    is_chunked: bool = False
    length: bytes | None = None

    @property
    def has_body(self) -> bool:
        """Whether a body follows."""
        return self.is_chunked or self.length not in (None, b"0")


def read_request(request: h11.Request) -> ProxyRequest:
    """Understand a request.

    Raises:
        TargetError: It has no single meaning.
    """
    method = _method(request)
    is_chunked, length = _framing(request)
    if method == "CONNECT":
        return _tunnel(request, is_chunked=is_chunked, length=length)
    written = request.target.decode("ascii")
    found = _ABSOLUTE.fullmatch(written)
    if found is None:
        if _HTTPS.match(written):
            raise TargetError("the proxy opens tunnels for https; use CONNECT")
        raise TargetError("this is a proxy; ask it for a whole address such as http://host/path")
    authority = found[1]
    host, port = _authority(authority, _WEB_PORT)
    _check_host(request, (host.text, port), _WEB_PORT)
    path = found[2] if found[2].startswith("/") else f"/{found[2]}"
    target = Target(host, port, "http", method, path.partition("?")[0])
    return ProxyRequest(target, path.encode(), is_chunked, length)


def read_opened(request: h11.Request, tunnel: Target) -> ProxyRequest:
    """Understand a request that came through a tunnel which the proxy has opened.

    Raises:
        TargetError: It has no single meaning, or is for another host than the tunnel.
    """
    method = _method(request)
    is_chunked, length = _framing(request)
    found = None if method == "CONNECT" else _ORIGIN.fullmatch(request.target.decode("ascii"))
    if found is None:
        raise TargetError("within a tunnel, a request names a path that begins with /")
    if len(_values(request, b"host")) != 1:
        raise TargetError("within a tunnel, a request has one Host header")
    _check_host(request, (tunnel.host.text, tunnel.port), tunnel.port)
    target = tunnel._replace(method=method, path=found[0].partition("?")[0])
    return ProxyRequest(target, request.target, is_chunked, length)


def read_credential(request: h11.Request) -> tuple[str, str] | None:
    """Take user and password out of `Proxy-Authorization`; None for none.

    Raises:
        TargetError: There are several.
    """
    values = _values(request, b"proxy-authorization")
    if not values:
        return None
    if len(values) > 1:
        raise TargetError("the request has two Proxy-Authorization headers")
    scheme, _, encoded = values[0].partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    user, _, password = text.partition(":")
    return user, password


def _method(request: h11.Request) -> str:
    method = request.method.decode("ascii")
    if not METHOD.fullmatch(method):
        raise TargetError(f"{method[:40]!r} is no method; methods are words in capitals")
    if request.http_version not in (b"1.0", b"1.1"):
        raise TargetError("the proxy speaks HTTP/1.1; use that version")
    return method


def _tunnel(request: h11.Request, *, is_chunked: bool, length: bytes | None) -> ProxyRequest:
    if is_chunked or length not in (None, b"0"):
        raise TargetError("a CONNECT request has no body")
    host, port = _authority(request.target.decode("ascii"), None)
    _check_host(request, (host.text, port), port)
    return ProxyRequest(Target(host, port, "https"))


def _framing(request: h11.Request) -> tuple[bool, bytes | None]:
    lengths, codings = _values(request, b"content-length"), _values(request, b"transfer-encoding")
    if codings and lengths:
        raise TargetError("the request has a Content-Length and a Transfer-Encoding")
    if codings and request.http_version == b"1.0":
        raise TargetError("HTTP/1.0 has no Transfer-Encoding")
    if len(set(lengths)) > 1:
        raise TargetError("the request has two Content-Length headers")
    return bool(codings), lengths[0] if lengths else None


def _authority(written: str, default_port: int | None) -> tuple[Host, int]:
    if "@" in written:
        raise TargetError("a user name stands before the host; send it in a header")
    return split_authority(written, default_port)


def _check_host(request: h11.Request, wanted: tuple[str, int], default_port: int) -> None:
    for value in _values(request, b"host"):
        try:
            host, port = _authority(value.decode("ascii"), default_port)
        except UnicodeDecodeError:
            raise TargetError("the Host header is not written in ASCII") from None
        if (host.text, port) != wanted:
            raise TargetError("the Host header names another host than the request line")


def _values(request: h11.Request, name: bytes) -> list[bytes]:
    return [bytes(value) for key, value in request.headers if key == name]
