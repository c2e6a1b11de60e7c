"""The only way to a host: judged, asked about where the policy says so, resolved once, connected.

Every protocol of the proxy comes through `Gate.connect`, which hands out connections to addresses
that were looked at, and to nothing else.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ferrule_hookspecs.egress import EgressAnswer
from ferrule_hookspecs.errors import FerruleError
from ferrule_network.audit import Audit, AuditEvent
from ferrule_network.host import Address, Host, canonical_address
from ferrule_network.host_stream import HostStream, connect_host
from ferrule_network.limits import Limits

if TYPE_CHECKING:
    from ferrule_network.credentials import Credential
    from ferrule_network.interceptor import Interceptor
    from ferrule_network.policy import Judgement
    from ferrule_network.rule import Target
    from ferrule_network.settings import Settings

Resolver = Callable[[str, int], Awaitable[Sequence[Address]]]
_MOST_ADDRESSES: Final = 64
_MOST_TRIES: Final = 4


class Question(NamedTuple):
    """What somebody is asked.

    Attributes:
        command: Whose connection it is.
        target: What it wants to reach.
        rule: The rule that wants approval; empty where no rule speaks for the target.
        reason: Why, in words.
    """

    command: str
    target: Target
    rule: str
    reason: str


Asker = Callable[[Question], Awaitable[EgressAnswer]]


class RefusedError(FerruleError):
    """The policy does not let a command reach a target.

    Attributes:
        kind: A word for programs, as in `Judgement.kind`.
    """

    def __init__(self, message: str, kind: str) -> None:
        """Say why, in one sentence."""
        super().__init__(message)
        self.kind = kind


class AuditError(FerruleError):
    """What is done cannot be recorded, so it is not done."""


class UnreachableError(FerruleError):
    """The target is allowed and cannot be reached."""


class Way(NamedTuple):
    """An open connection to a target."""

    stream: HostStream
    address: str


async def look_up(name: str, port: int) -> Sequence[Address]:
    """Ask the system for the addresses of a name."""
    found = await anyio.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [ip_address(str(entry[4][0])) for entry in found]


@dataclass(slots=True)
class Gate:
    """Lets commands through to what they may reach.

    Attributes:
        settings: The policy, and which addresses may be reached.
        audit: Is told every decision.
        ask: Answers where the policy wants approval; without it, nothing such is let through.
        resolve: Looks names up.
        limits: Bounds.
        interceptor: Opens tunnels; without it, there are none to hosts that are intercepted.
    """

    settings: Settings
    audit: Audit
    ask: Asker | None = None
    resolve: Resolver = look_up
    limits: Limits = Limits()  # noqa: RUF009 - it is frozen
    interceptor: Interceptor | None = None

    def settings_for(self, credential: Credential) -> Settings:
        """What counts for a command."""
        return credential.settings or self.settings

    def record(self, event: AuditEvent) -> None:
        """Tell the audit; raises `AuditError` where it cannot write."""
        try:
            self.audit(event)
        except OSError as error:  # never taken for a lost connection
            raise AuditError(
                f"the record of {event.target} could not be written: {error}"
            ) from error

    async def connect(self, target: Target, credential: Credential) -> Way:
        """Open a connection.

        Raises:
            RefusedError: It is not allowed.
            UnreachableError: It is, and nobody answers.
        """
        settings = self.settings_for(credential)
        judgement = settings.judge(target)
        command = credential.command
        if judgement.decision == "deny":
            raise self._refused(command, target, judgement, judgement.why, judgement.kind)
        if judgement.decision == "ask":
            answer = await self._answer(credential, target, judgement)
            if not answer.accepted:
                because = f" ({answer.reason})" if answer.reason else ""
                why = f"{judgement.why}, and it was not approved{because}; do without it"
                raise self._refused(command, target, judgement, why, "ask")
        addresses = await self._addresses(command, target, judgement)
        for address in addresses:
            obstacle = settings.reach.obstacle(address)
            if obstacle:
                why = (
                    f"{address} is {obstacle}, which no rule about hosts opens; if it is meant, "
                    f"add '{address}' to `local_addresses` of [network] in config.toml"
                )
                raise self._refused(command, target, judgement, why, "address")
        self.record(
            AuditEvent(
                "allowed", command, target, judgement.decision, judgement.rule, judgement.why
            )
        )
        return await self._open(command, target, addresses)

    def _refused(
        self, command: str, target: Target, judgement: Judgement, why: str, kind: str
    ) -> RefusedError:
        decision, rule = judgement.decision, judgement.rule
        self.record(AuditEvent("refused", command, target, decision, rule, why))
        return RefusedError(f"{target} is refused: {why}", kind)

    async def _answer(
        self, credential: Credential, target: Target, judgement: Judgement
    ) -> EgressAnswer:
        """Have somebody answer, once for a target; nobody's answer means no."""
        ask = credential.ask or self.ask
        if ask is None:
            return EgressAnswer(accepted=False, reason="nobody can be asked here")
        about = f"{target} {judgement.rule}"
        async with credential.asking.setdefault(about, anyio.Lock()):
            if about not in credential.answers:
                question = Question(credential.command, target, judgement.rule, judgement.why)
                with anyio.move_on_after(self.limits.ask_s):
                    credential.answers[about] = await ask(question)
            nobody = EgressAnswer(accepted=False, reason="nobody answered in time")
            return credential.answers.setdefault(about, nobody)

    async def _addresses(
        self, command: str, target: Target, judgement: Judgement
    ) -> Sequence[Address]:
        """Look the host up, once: what is checked is what is connected to."""
        host: Host = target.host
        if host.address is not None:
            return [host.address]
        why = "it cannot be found; check its name"
        try:
            with anyio.fail_after(self.limits.resolve_s):
                found = await self.resolve(host.text, target.port)
        except TimeoutError:
            found, why = (), f"looking it up took more than {self.limits.resolve_s:g} s; try again"
        except (OSError, UnicodeError):
            found = ()
        if not 0 < len(found) <= _MOST_ADDRESSES:
            raise self.failed(command, target, why)
        return list(dict.fromkeys(map(canonical_address, found)))

    async def _open(self, command: str, target: Target, addresses: Sequence[Address]) -> Way:
        for address in addresses[:_MOST_TRIES]:
            try:
                with anyio.fail_after(self.limits.connect_s):
                    return Way(await connect_host(address, target.port), str(address))
            except (OSError, TimeoutError):
                continue
        raise self.failed(command, target, f"nobody answers at {addresses[0]}; try again later")

    def failed(self, command: str, target: Target, why: str) -> UnreachableError:
        """Record that something allowed cannot be done, and make the error that says so."""
        self.record(AuditEvent("failed", command, target, "allow", reason=why))
        return UnreachableError(f"{target} is allowed, but {why}")
