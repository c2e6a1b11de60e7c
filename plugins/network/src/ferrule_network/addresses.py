"""Which addresses a proxy may reach: those of the public internet, and what a user adds.

A name that is allowed says nothing about where it points: its owner may let it point to this
machine, to the router or to the metadata service of a cloud. So every address that a name has is
looked at, and only an address that was looked at is connected to.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final, NamedTuple

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.host import Address, canonical_address

Network = IPv4Network | IPv6Network

_NOT_PUBLIC_4: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a carrier's inner network"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's metadata service"),
        ("169.254.0.0/16", "the local link, where metadata services are"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "special use"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "a tunnel"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "a test network"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "many machines at once"),
        ("240.0.0.0/4", "special use"),
    )
)
_NOT_PUBLIC_6: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "this machine"),
        ("::1/128", "this machine"),
        ("2001::/32", "a tunnel"),
        ("2001::/23", "special use"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "a tunnel"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "the local link"),
        ("fec0::/10", "a private network"),
        ("ff00::/8", "many machines at once"),
    )
)
_PUBLIC_6: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
_METADATA: Final = frozenset(
    map(
        canonical_address,
        (
            IPv4Address("169.254.169.254"),
            IPv4Address("169.254.170.2"),
            IPv4Address("169.254.170.23"),
            IPv4Address("100.100.100.200"),
            IPv4Address("192.0.0.192"),
            IPv4Address("168.63.129.16"),
            IPv6Address("fd00:ec2::254"),
            IPv6Address("fd00:ec2::23"),
            IPv6Address("fd20:ce::254"),
        ),
    )
)


class Reach(NamedTuple):
    """Which addresses may be connected to.

    Attributes:
        extra: Networks beyond the public internet. A metadata service is only reached where it is
            named alone, never as part of a larger network.
    """

    extra: tuple[Network, ...] = ()

    def holds(self, network: Network) -> bool:
        """Whether a network lies in one of these."""
        return any(
            network.subnet_of(one)  # pyright: ignore[reportArgumentType] -- of the same version
            for one in self.extra
            if one.version == network.version
        )

    @property
    def serves_loopback(self) -> bool:
        """Whether addresses of this machine itself may be connected to."""
        return any(network.is_loopback for network in self.extra)

    def obstacle(self, address: Address) -> str:
        """Say what an address is that may not be reached; empty for one that may."""
        address = canonical_address(address)
        if any(self._opens(network, address) for network in self.extra):
            return ""
        return _kind(address)

    @staticmethod
    def _opens(network: Network, address: Address) -> bool:
        if address.version != network.version or address not in network:
            return False
        return address not in _METADATA or network.num_addresses == 1


def reach_from(networks: object) -> Reach:
    """Read `[network] local_addresses`.

    Raises:
        ConfigError: It is no list of addresses and networks.
    """
    if not isinstance(networks, (list, tuple)):
        raise _wrong(networks)
    found: list[Network] = []
    for one in networks:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(one, str):
            raise _wrong(one)  # pyright: ignore[reportUnknownArgumentType]
        try:
            found.append(ip_network(one))
        except ValueError:
            raise _wrong(one) from None
    return Reach(tuple(found))


def _kind(address: Address) -> str:
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _NOT_PUBLIC_4 if address in network), "")
    if address in _NAT64:
        return _kind(IPv4Address(int(address) & 0xFFFF_FFFF))
    kind = next((kind for network, kind in _NOT_PUBLIC_6 if address in network), "")
    if kind:
        return kind
    if address not in _PUBLIC_6:
        return "special use"
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return "a tunnel"
    return ""


def _wrong(value: object) -> ConfigError:
    return ConfigError(
        "local_addresses of [network] must be a list of addresses and networks such as "
        f'["127.0.0.1", "10.1.0.0/16"], not {value!r}'
    )
