"""One connection of a command to the proxy: bounded reading, a deadline that moves, byte counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from ferrule_network.audit import AuditEvent
from ferrule_network.gate import Gate, RefusedError
from ferrule_network.host_stream import CHUNK

if TYPE_CHECKING:
    from anyio.abc import ByteStream

    from ferrule_network.credentials import Credential, Credentials
    from ferrule_network.gate import Way
    from ferrule_network.rule import Target

BULK: Final = 1024 * 1024
"""From how many bytes on it pays to move them inside the system."""
_LINGER_S: Final = 2.0
_LINGER_BYTES: Final = 1024 * 1024


class GoneError(Exception):
    """The command has closed its side where more was to come."""


@dataclass(eq=False, slots=True)
class Traffic:
    """How much went each way."""

    sent: int = 0
    received: int = 0


@dataclass(eq=False, slots=True)
class Connection:
    """A connection of a command.

    Attributes:
        stream: Its bytes.
        gate: The way to hosts.
        credentials: Those that count.
        scope: Ends it, at its deadline or with its credential.
        holders: Whose it is; several where requests show different credentials.
        owner: Whose it is for certain, as nobody else could have made it; then nothing is shown.
    """

    stream: ByteStream
    gate: Gate
    credentials: Credentials
    scope: anyio.CancelScope
    holders: set[Credential] = field(default_factory=set["Credential"])
    owner: Credential | None = None
    _buffer: bytearray = field(default_factory=bytearray)

    def allow_time(self, seconds: float) -> None:
        """Move the deadline."""
        self.scope.deadline = anyio.current_time() + seconds

    def keep_going(self) -> None:
        """Say that something has happened."""
        self.scope.deadline = anyio.current_time() + self.gate.limits.idle_s

    async def receive(self) -> bytes:
        """Read what there is; raises `anyio.EndOfStream` at the end."""
        if self._buffer:
            return self.take()
        return await self.stream.receive(CHUNK)

    def take(self) -> bytes:
        """Take what was read and not used."""
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def put_back(self, data: bytes) -> None:
        """Keep what was read for the next reader."""
        self._buffer[:0] = data

    async def exactly(self, count: int) -> bytes:
        """Read a number of bytes; raises `GoneError` where they do not come."""
        while len(self._buffer) < count:
            try:
                self._buffer += await self.stream.receive(4096)
            except anyio.EndOfStream:
                raise GoneError from None
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def hold(self, shown: tuple[str, str] | None, target: Target | None) -> Credential:
        """Find whose this connection is, by the user and the secret that were shown.

        Raises:
            RefusedError: The credential is nobody's, or its command holds too many connections.
        """
        credential = self.owner
        if credential is None and shown is not None:
            credential = self.credentials.find(*shown)
        if credential is None:
            why = "the proxy is for commands that show the credential they were given"
            self.gate.record(AuditEvent("refused", "", target, reason=why))
            raise RefusedError(why, "credential")
        if credential not in self.holders:
            if len(credential.connections) >= self.gate.limits.per_command:
                why = f"the command holds {len(credential.connections)} connections; close some"
                self.gate.record(AuditEvent("refused", credential.command, target, reason=why))
                raise RefusedError(why, "connections")
            self.holders.add(credential)
            credential.connections.add(self.scope)
        return credential

    async def connect(self, target: Target, credential: Credential) -> Way:
        """Open the way to a target; errors are those of `Gate.connect`."""
        limits = self.gate.limits
        self.allow_time(limits.ask_s + limits.resolve_s + 4 * limits.connect_s + limits.idle_s)
        return await self.gate.connect(target, credential)

    def closed(self, target: Target, credential: Credential, way: Way, traffic: Traffic) -> None:
        """Record the end of what was let through."""
        self.gate.record(
            AuditEvent(
                "closed",
                credential.command,
                target,
                "allow",
                address=way.address,
                sent=traffic.sent,
                received=traffic.received,
            )
        )

    async def linger(self) -> None:
        """Close so that the last answer arrives: unread bytes would make the system reset it."""
        self.allow_time(_LINGER_S)
        await self.stream.send_eof()
        drained = 0
        while drained < _LINGER_BYTES:
            try:
                drained += len(await self.stream.receive(CHUNK))
            except anyio.EndOfStream:
                return

    def release(self) -> None:
        """Give the place back."""
        for credential in self.holders:
            credential.connections.discard(self.scope)
