"""Whose a connection is: each command shows a credential of its own."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from anyio import CancelScope, Lock

    from ferrule_hookspecs.egress import EgressAnswer
    from ferrule_network.gate import Asker
    from ferrule_network.settings import Settings

_LONGEST_USER = 255


@dataclass(eq=False, slots=True)
class Credential:
    """The right of one command to use the proxy, and what it holds open.

    Attributes:
        command: What the caller of the proxy calls it.
        secret: What it shows, as the password.
        settings: What counts for it; None for what counts for all.
        ask: Answers questions about it; None for whoever answers for all.
        connections: Its connections and its own listeners; they end with the credential.
        is_over: Whether it counts no longer.
        answers: What was answered to questions about it: the same is not asked twice.
        asking: Held while a question is open, so that the same is not asked at the same time.
    """

    command: str
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    settings: Settings | None = None
    ask: Asker | None = None
    connections: set[CancelScope] = field(default_factory=set["CancelScope"])
    is_over: bool = False
    answers: dict[str, EgressAnswer] = field(default_factory=dict[str, "EgressAnswer"])
    asking: dict[str, Lock] = field(default_factory=dict[str, "Lock"])

    @property
    def user(self) -> str:
        """The user name to show; it names the command."""
        return quote(self.command, safe="")

    def url(self, scheme: str, address: str) -> str:
        """The proxy as environment variables name it.

        Args:
            scheme: `http`, or `socks5h`, with which the proxy looks names up.
            address: Host and port of the proxy, seen from the command.
        """
        return f"{scheme}://{quote(self.user, safe='')}:{self.secret}@{address}"


class Credentials:
    """The credentials that count now."""

    def __init__(self) -> None:
        self._by_command: dict[str, Credential] = {}

    def issue(self, command: str) -> Credential:
        """Give a command its credential; raises `ValueError` for a name that is in use or long."""
        credential = Credential(command)
        if command in self._by_command or not 0 < len(credential.user) <= _LONGEST_USER:
            raise ValueError(f"{command!r} has a credential already, or is no usable name")
        self._by_command[command] = credential
        return credential

    def revoke(self, credential: Credential) -> None:
        """End a credential with everything that is open by it."""
        credential.is_over = True
        self._by_command.pop(credential.command, None)
        for scope in tuple(credential.connections):
            scope.cancel()

    def find(self, user: str, secret: str) -> Credential | None:
        """Find whose a user name and password are."""
        known = self._by_command.get(unquote(user))
        if known is None or not hmac.compare_digest(known.secret.encode(), secret.encode()):
            return None
        return known
