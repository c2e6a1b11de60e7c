"""Whether a request may come in at all. Both network transports ask before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_gate.bearer import Verifier, token_of, verifier_from
from ferrule_gate.guard import Guard, make_guard
from ferrule_gate.limits import texts
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ferrule_gate.place import Place

GUARD_KEYS = frozenset({"allowed_origins", "allowed_hosts"})


class OpenToStrangersError(FerruleError):
    """Others could reach the server, and it would ask nobody who they are."""


class Knock(NamedTuple):
    """The headers of a request that matter here, each as often as it came.

    Attributes:
        authorization: `Authorization`.
        host: `Host`.
        origin: `Origin`.
        local_address: The address of ours that the client reached.
    """

    authorization: Sequence[str]
    host: Sequence[str]
    origin: Sequence[str]
    local_address: str = ""


class Refusal(NamedTuple):
    """What a request is answered that may not come in."""

    status: int
    text: str


class Gate(NamedTuple):
    """Judges requests. Attributes: who knows the tokens, if they are asked for; the guard."""

    verifier: Verifier | None
    guard: Guard

    def judge(self, knock: Knock) -> Refusal | None:
        """Return why a request may not come in; None lets it in."""
        if self.verifier is not None:
            token = token_of(knock.authorization)
            if token is None or not self.verifier.accepts(token):
                return Refusal(401, "Unauthorized\n")
        if not self.guard.allows_host(knock.host, knock.local_address):
            return Refusal(403, "This host is not listed in allowed_hosts.\n")
        if not self.guard.allows_origin(knock.origin):
            return Refusal(403, "This origin is not listed in allowed_origins.\n")
        return None


def make_gate(
    place: Place | None, options: Mapping[str, str], settings: Mapping[str, object], where: str
) -> Gate:
    """Make the gate of an endpoint.

    Args:
        place: Where it listens; None is no network at all, so that hosts mean nothing.
        options: What the command line said for it.
        settings: Its table of the configuration.
        where: The table's name, for messages.

    Raises:
        OpenToStrangersError: Others could reach it and no authentication is asked for.
        FerruleError: Options or settings do not fit.
    """
    verifier = verifier_from(options)
    is_open = place is not None and not place.is_loopback
    if place is not None and is_open and verifier is None:
        raise OpenToStrangersError(
            f"{place.host} can be reached from other machines and nobody would be asked for a "
            "token: add --ws-auth capability-token --ws-token-file FILE, or listen at 127.0.0.1"
        )
    origins, hosts = (texts(settings, key, where) for key in ("allowed_origins", "allowed_hosts"))
    guard = make_guard(origins, hosts, is_open=is_open, where=where)
    return Gate(verifier, guard if place is not None else guard._replace(hosts=None))
