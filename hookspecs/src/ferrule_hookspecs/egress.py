"""A managed way to the network for commands whose sandbox has none.

One plugin offers it for a session, through the hook `ferrule_egress`. The kernel has a door opened
for each command and closes it at the command's end, whatever that is; the sandbox backend puts the
door where the command can reach it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from ferrule_hookspecs.review import Amendment
    from ferrule_hookspecs.sandbox import Door

EgressProtocol = Literal["http", "https", "socks5_tcp"]


class HostAccess(NamedTuple):
    """What a command wants to reach.

    Attributes:
        host: A name or an address, in its only spelling.
        port: The port.
        protocol: `http` is a request that is read, `https` a tunnel for it, `socks5_tcp` a tunnel
            for anything.
    """

    host: str
    port: int
    protocol: EgressProtocol

    @property
    def wire_protocol(self) -> Literal["http", "https", "socks5Tcp"]:
        """What clients call the protocol."""
        return "socks5Tcp" if self.protocol == "socks5_tcp" else self.protocol


class EgressQuestion(NamedTuple):
    """A connection that waits for somebody's approval.

    Attributes:
        access: What the command wants to reach.
        reason: Why somebody is asked, in plain words.
        is_ruled: Whether a rule wants approval; else nobody has said anything about the host.
        amendments: What may be changed for good by whoever accepts.
    """

    access: HostAccess
    reason: str
    is_ruled: bool = False
    amendments: tuple[Amendment, ...] = ()


class EgressAnswer(NamedTuple):
    """Whether a connection may be made; `reason` says why not, in plain words."""

    accepted: bool
    reason: str = ""


class EgressFact(NamedTuple):
    """Something that happened to a connection, for the records.

    Attributes:
        kind: allowed before connecting, refused, failed where nobody answers, closed at its end.
        access: What was asked for; None where the request could not be read.
        reason: Why, in plain words.
        rule: What decided; empty where no rule did.
        address: The address that was connected to; empty for none.
        sent: Bytes that went to the host; known when it is closed.
        received: Bytes that came from the host.
    """

    kind: Literal["allowed", "refused", "failed", "closed"]
    access: HostAccess | None
    reason: str = ""
    rule: str = ""
    address: str = ""
    sent: int = 0
    received: int = 0


class EgressRequest(NamedTuple):
    """A command that is about to start, for which a door is wanted.

    Attributes:
        words: The program and its arguments.
        thread_id: The thread; empty outside of one.
        turn_id: The turn; empty outside of one.
        call_id: The call that starts the command; empty outside of one.
        presets: Presets that count for this command beside those of the configuration.
        rules: Rules about the network that count for this command, in the words of `[network]`.
        ask: Answers whether a connection may be made; None where nobody can be asked, which
            means no.
        tell: Is told what happens to the command's connections.
    """

    words: tuple[str, ...]
    thread_id: str = ""
    turn_id: str = ""
    call_id: str = ""
    presets: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    ask: Callable[[EgressQuestion], Awaitable[EgressAnswer]] | None = None
    tell: Callable[[EgressFact], None] | None = None


class OpenDoor(Protocol):
    """The way out of one command.

    Attributes:
        door: What the sandbox backend needs to know.
        environment: Variables by which programs find it.
    """

    door: Door
    environment: Mapping[str, str]

    def close(self) -> None:
        """End every connection of the command; called once, also where no event loop runs."""
        ...


class Egress(Protocol):
    """The managed network of one session."""

    async def open(self, request: EgressRequest) -> OpenDoor:
        """Make a way out for one command.

        Raises:
            FerruleError: There is none; the command then does not start.
        """
        ...

    async def aclose(self) -> None:
        """End everything; called once, when the session ends."""
        ...
