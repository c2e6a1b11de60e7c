"""Opens tunnels: TLS towards the command by Ferrule's own authority, TLS towards the host in full.

Nothing of a request goes out before the host has shown that it is the host.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSStream

from ferrule_hookspecs.errors import FerruleError
from ferrule_network.authority import Authority, replace_file
from ferrule_network.trust import authorities, host_context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ferrule_network.connection import Connection
    from ferrule_network.gate import Way
    from ferrule_network.host import Host
    from ferrule_network.interception import Interception
    from ferrule_network.rule import Target

_BROKEN: Final = (
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    OSError,  # those of ssl among them
)


class InterceptionError(FerruleError):
    """A tunnel that has to be opened cannot be, so that it is none."""


class Interceptor:
    """What opening tunnels needs, made when the first tunnel is opened."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        """Keep places; `prepare` makes what is missing."""
        self.environ = environ
        self._folder = home / "network"
        self._authority: Authority | None = None
        self._hosts: ssl.SSLContext | None = None

    @property
    def bundle(self) -> Path:
        """The file of authorities for commands."""
        return self._folder / "ca-bundle.pem"

    def prepare(self) -> None:
        """Make the authority and the file that commands trust.

        Raises:
            FerruleError: That is not possible.
        """
        self._prepared()

    async def accept(self, connection: Connection, host: Host) -> OpenedStream:
        """Be the host for a command, as far as TLS goes.

        Raises:
            InterceptionError: The command does not speak TLS or does not trust the authority.
        """
        context = self._prepared().context_for(host)
        raw = _Raw(connection)
        try:
            stream = await TLSStream.wrap(
                raw, server_side=True, ssl_context=context, standard_compatible=False
            )
        except _BROKEN as error:
            raise _untrusted(error) from None
        return OpenedStream(stream, raw)

    async def secure(self, way: Way, target: Target) -> SecuredHost:
        """Speak TLS with a host and have it show that it is the one.

        Raises:
            InterceptionError: It does not.
        """
        seconds = 30.0
        try:
            if self._hosts is None:
                self._hosts = host_context(self.environ)
            with anyio.fail_after(seconds):
                stream = await TLSStream.wrap(
                    way.stream,
                    hostname=target.host.text,
                    ssl_context=self._hosts,
                    standard_compatible=False,
                )
        except ssl.SSLCertVerificationError as error:
            raise InterceptionError(
                f"its certificate is not to be trusted: {error.verify_message}"
            ) from None
        except TimeoutError:
            raise InterceptionError(f"TLS with it took more than {seconds:g} s") from None
        except _BROKEN as error:
            why = getattr(error, "reason", None) or str(error) or "the connection was closed"
            raise InterceptionError(f"TLS with it failed: {why}") from None
        return SecuredHost(stream)

    async def headers(
        self, target: Target, interception: Interception
    ) -> list[tuple[bytes, bytes]]:
        """The headers with secrets for a request; raises `SecretError`."""
        wanted = interception.secrets_for(target)
        return [await secret.header_for(self.environ) for secret in wanted]

    def _prepared(self) -> Authority:
        if self._authority is not None:
            return self._authority
        made = Authority(self._folder)
        try:
            replace_file(self.bundle, authorities(self.environ).rstrip() + b"\n" + made.pem)
        except OSError as error:
            raise InterceptionError(
                f"the file of authorities for commands cannot be made: {error}"
            ) from None
        self._authority = made
        return made


def _untrusted(error: Exception) -> InterceptionError:
    why = getattr(error, "reason", None) or "the connection was closed"
    return InterceptionError(
        f"TLS with the command failed ({why}); the proxy opens tunnels to this host, and its"
        " authority is in the file that SSL_CERT_FILE names to programs"
    )


class _Raw(ByteStream):
    """A command's connection below TLS: what was read already comes first."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = anyio.Lock()  # records keep the order in which they were made

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._connection.receive()

    async def send(self, item: bytes) -> None:
        async with self._sending:
            await self._connection.stream.send(item)

    async def send_eof(self) -> None:
        await self._connection.stream.send_eof()

    async def aclose(self) -> None:
        await self._connection.stream.aclose()


class OpenedStream(ByteStream):
    """What a command says inside of a tunnel."""

    def __init__(self, stream: TLSStream, raw: _Raw) -> None:
        """Take a stream on which TLS stands already."""
        self._stream = stream
        self._raw = raw
        self._has_begun = False
        self._has_ended = False

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Read what there is; after the end, what still comes is not read as TLS.

        Raises:
            InterceptionError: The command says first of all that it does not trust the proxy.
        """
        if self._has_ended:
            return await self._raw.receive()
        try:
            data = await self._stream.receive(max_bytes)
        except ssl.SSLError as error:
            if self._has_begun:
                raise anyio.BrokenResourceError from error
            raise _untrusted(error) from None
        self._has_begun = True
        return data

    async def send(self, item: bytes) -> None:
        """Write everything."""
        await self._stream.send(item)

    async def send_eof(self) -> None:
        """Say that nothing more is written, and read nothing more."""
        self._has_ended = True
        with suppress(*_BROKEN):
            await self._stream.unwrap()
        with suppress(*_BROKEN):
            await self._raw.send_eof()

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()


class SecuredHost(ByteStream):
    """A host that has shown who it is."""

    def __init__(self, stream: TLSStream) -> None:
        """Take a stream on which TLS stands already."""
        self._stream = stream

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Read what there is; raises `anyio.EndOfStream` at the end."""
        return await self._stream.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        """Write everything."""
        await self._stream.send(item)

    async def send_eof(self) -> None:
        """TLS has no half of an end; the request says its own length."""

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    async def pour(self, sink: ByteStream, most: int | None, moved: object) -> None:
        """Move nothing: what is encrypted has to be read here, so that whoever calls copies."""
