"""Which tunnels the proxy opens, and which headers it puts into requests: `[network.tls]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.host_secret import HostSecret, read_secret
from ferrule_network.rule import NetworkRule, build_rule

if TYPE_CHECKING:
    from ferrule_network.host import Host
    from ferrule_network.rule import Target

_TLS = "intercept of [network.tls]"
_ENTRY = "[[network.credentials]]"


class Interception(NamedTuple):
    """What is opened, and what is put in.

    Attributes:
        hosts: The hosts whose tunnels are opened.
        secrets: Headers for some of them.
    """

    hosts: tuple[NetworkRule, ...] = ()
    secrets: tuple[HostSecret, ...] = ()

    def covers(self, host: Host) -> bool:
        """Whether tunnels to a host are opened."""
        return any(rule.names(host) for rule in self.hosts)

    def secrets_for(self, target: Target) -> list[HostSecret]:
        """The headers that a request which the proxy has read is given; `TRACE` would echo them."""
        if target.is_tunnel or target.method == "TRACE" or not self.covers(target.host):
            return []
        return [secret for secret in self.secrets if secret.where.covers(target)]


def interception_of(table: Mapping[str, object]) -> Interception:
    """Read the table `[network]`.

    Raises:
        ConfigError: It holds something that cannot be used.
    """
    tls = table.get("tls", {})
    written = cast("Mapping[str, object]", tls).get("intercept", ()) if _is_table(tls) else None
    if not _is_texts(written):
        raise ConfigError(f"{_TLS} must be a list of hosts, not {written!r}")
    hosts = tuple(
        build_rule("allow", {"host": host}, _TLS) for host in cast("Sequence[str]", written)
    )
    entries = table.get("credentials", ())
    if not isinstance(entries, (list, tuple)):
        raise ConfigError(f"credentials of [network] are written as {_ENTRY}")
    secrets = tuple(map(_secret, cast("Sequence[object]", entries)))
    for secret in secrets:
        if not any(_holds(opened.host, secret.where.host) for opened in hosts):
            raise ConfigError(
                f"{_ENTRY} names {secret.where.host!r}, whose tunnels are not opened; add it to"
                f" {_TLS}, else no header can be put in"
            )
    return Interception(hosts, secrets)


def _secret(entry: object) -> HostSecret:
    if not _is_table(entry):
        raise ConfigError(f"credentials of [network] are written as {_ENTRY}")
    return read_secret(cast("Mapping[str, object]", entry), _ENTRY)


def _holds(opened: str, wanted: str) -> bool:
    """Whether all hosts of one pattern are hosts of another."""
    below = opened.startswith("*.") and wanted.endswith(opened[1:])
    return opened in ("**", wanted) or below


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(text, str) for text in cast("Sequence[object]", value)
    )
