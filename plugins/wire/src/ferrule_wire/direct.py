"""A channel that speaks HTTP/1.1 over its own connections.

It does what a model provider needs and no more: POST with a body, an answer in chunks or of known
length or up to the end of the connection, kept-open connections, TLS with verified certificates.
"""

from __future__ import annotations

import os
import re
import select
import ssl
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import SocketAttribute

from ferrule_wire.channel import (
    CONNECT_TIMEOUT_S,
    BrokenLineError,
    CertificateError,
    ChannelError,
    IdleLineError,
    Target,
    UnreachableError,
    plain_cause,
)
from ferrule_wire.chunked import ChunkedBody

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from anyio.abc import ByteStream

_PIECE: Final = 256 * 1024
_LONGEST_HEAD: Final = 64 * 1024
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?$")
_HEADER_LINE: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n]*?)[ \t]*$")
_FIRST_FINAL_STATUS: Final = 200
_BAD_IN_HEADER: Final = re.compile(r"[\r\n\0]")


class DirectChannel:
    """Keeps the connections that are free, and opens another when none is."""

    def __init__(self, target: Target) -> None:
        """Connect to nothing yet."""
        self._target = target
        self._idle: list[ByteStream] = []
        self._context: ssl.SSLContext | None = None

    async def post(self, body: bytes, headers: Mapping[str, str]) -> DirectAnswer:
        """Send a request and await the head of the answer."""
        head = self._head(len(body), headers)
        stream = await self._take_idle() or await self._connect()
        line = _Line(stream, self._target.idle_timeout_s, self._idle)
        try:
            await line.send(head + body)
            return await _read_head(line)
        except BaseException:
            await anyio.aclose_forcefully(stream)
            raise

    async def aclose(self) -> None:
        """Close every free connection."""
        while self._idle:
            await anyio.aclose_forcefully(self._idle.pop())

    def _head(self, length: int, headers: Mapping[str, str]) -> bytes:
        parts = self._target.parts
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        fields = {"host": parts.netloc, **headers, "content-length": str(length)}
        lines = [f"POST {path} HTTP/1.1"]
        for name, value in fields.items():
            if _BAD_IN_HEADER.search(name + value):
                raise ChannelError(f"the header {name!r} must not contain a line break")
            lines.append(f"{name}: {value}")
        return "\r\n".join((*lines, "", "")).encode("utf-8")

    async def _take_idle(self) -> ByteStream | None:
        while self._idle:
            stream = self._idle.pop()
            if not _has_news(stream):
                return stream
            await anyio.aclose_forcefully(stream)
        return None

    async def _connect(self) -> ByteStream:
        parts = self._target.parts
        host, is_secure = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
        try:
            with anyio.fail_after(CONNECT_TIMEOUT_S):
                if not is_secure:
                    return await anyio.connect_tcp(host, port)
                if self._context is None:
                    self._context = trusting_context()
                return await anyio.connect_tcp(
                    host, port, ssl_context=self._context, tls_standard_compatible=False
                )
        except TimeoutError:
            raise UnreachableError("no answer in time") from None
        except ssl.SSLCertVerificationError as error:
            raise CertificateError(error.verify_message) from error
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise UnreachableError(plain_cause(error)) from error


class DirectAnswer:
    """An answer on a direct connection."""

    def __init__(self, line: _Line, status: int, headers: Mapping[str, str]) -> None:
        """Begin to read after the head."""
        self.status = status
        self.headers = headers
        self._line = line
        self._is_closed = False
        self._chunks = ChunkedBody() if _is_chunked(headers) else None
        length = headers.get("content-length", "")
        self._left = int(length) if length.isdecimal() and self._chunks is None else None
        self._is_over = self._left == 0

    def __aiter__(self) -> DirectAnswer:
        """Read the body."""
        return self

    async def __anext__(self) -> bytes:
        """Read the next piece that holds something."""
        while not self._is_over:
            piece = self._line.take() or await self._line.receive()
            data = self._decode(piece)
            if data:
                return data
        raise StopAsyncIteration

    def _decode(self, piece: bytes) -> bytes:
        if self._chunks is not None:
            if not piece:
                raise BrokenLineError("the body was cut off")
            data = self._chunks.feed(piece)
            self._is_over = self._chunks.is_complete
            return data
        if self._left is None:
            self._is_over = not piece
            return piece
        if not piece and self._left:
            raise BrokenLineError("the body was cut off")
        self._left -= len(piece)
        self._is_over = self._left <= 0
        return piece

    async def aclose(self) -> None:
        """Give back a connection that is free again; close any other."""
        if self._is_closed:
            return
        self._is_closed = True
        has_known_end = self._chunks is not None or self._left == 0
        is_kept = self.headers.get("connection", "").lower() != "close"
        if self._is_over and has_known_end and is_kept:
            self._line.give_back()
        else:
            await self._line.aclose()


class _Line:
    """A connection with what was read from it too early, and a limit to its silence."""

    def __init__(self, stream: ByteStream, idle_timeout_s: float, free: list[ByteStream]) -> None:
        self._stream = stream
        self._idle_timeout_s = idle_timeout_s
        self._free = free
        self._early = b""

    async def send(self, data: bytes) -> None:
        try:
            with anyio.fail_after(self._idle_timeout_s):
                await self._stream.send(data)
        except TimeoutError:
            raise IdleLineError("the request could not be sent in time") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise BrokenLineError("the connection was closed") from error

    async def receive(self) -> bytes:
        """Read what comes next; empty at the end of the connection."""
        try:
            with anyio.fail_after(self._idle_timeout_s):
                return await self._stream.receive(_PIECE)
        except anyio.EndOfStream:
            return b""
        except TimeoutError:
            raise IdleLineError("nothing came in time") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise BrokenLineError("the connection was reset") from error

    def take(self) -> bytes:
        early, self._early = self._early, b""
        return early

    def put_back(self, data: bytes) -> None:
        self._early = data

    def give_back(self) -> None:
        """Keep the connection for the next request."""
        self._free.append(self._stream)

    async def aclose(self) -> None:
        await anyio.aclose_forcefully(self._stream)


async def _read_head(line: _Line) -> DirectAnswer:
    data = line.take()
    while True:
        while b"\r\n\r\n" not in data:
            piece = await line.receive()
            if not piece or len(data) > _LONGEST_HEAD:
                raise BrokenLineError("no answer came")
            data += piece
        head, _, data = data.partition(b"\r\n\r\n")
        status, headers = _parse_head(head)
        if status >= _FIRST_FINAL_STATUS:
            line.put_back(data)
            return DirectAnswer(line, status, headers)


def _parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *rest = head.split(b"\r\n")
    status_line = _STATUS_LINE.match(first)
    if status_line is None:
        raise BrokenLineError("the server does not speak HTTP/1.1")
    headers: dict[str, str] = {"connection": "close"} if status_line[1] == b"0" else {}
    for line in rest:
        field = _HEADER_LINE.match(line)
        if field is None:
            raise BrokenLineError("the server sent a malformed header")
        headers[field[1].decode("ascii").lower()] = field[2].decode("latin-1")
    return int(status_line[2]), headers


def _is_chunked(headers: Mapping[str, str]) -> bool:
    return headers.get("transfer-encoding", "").lower().rpartition(",")[2].strip() == "chunked"


def _has_news(stream: ByteStream) -> bool:
    """Whether there is something to read on a free connection: then the server has closed it."""
    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 -- not Django's
    if hasattr(select, "poll"):
        watch = select.poll()
        watch.register(raw, select.POLLIN)
        return bool(watch.poll(0))
    return bool(select.select([raw], [], [], 0)[0])


def trusting_context() -> ssl.SSLContext:
    """Trust what httpx trusts: the files the environment names, else certifi's collection."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not (file or folder):
        import certifi

        file = certifi.where()
    context = ssl.create_default_context(cafile=file or None, capath=folder or None)
    context.set_alpn_protocols(["http/1.1"])
    return context
