"""One spelling for every host: what a rule is compared with is what is connected to.

A program may write an address in hexadecimal, octal or with parts missing, a name in capitals, with
a dot at its end, percent-encoded or in letters of other scripts. Resolvers understand all of it, so
everything is brought into one form before anybody looks at it, and what has no such form is
refused.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from ferrule_hookspecs.errors import FerruleError

Address = IPv4Address | IPv6Address
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_LONGEST: Final = 253
_LONGEST_SPELLING: Final = 1024


class TargetError(FerruleError):
    """What is asked for is written in a way that has no single meaning."""


class Host(NamedTuple):
    """A host in its only spelling.

    Attributes:
        text: A name in lower-case ASCII without a dot at its end, or an address; IPv6 without
            brackets.
        address: The address, where the host is one.
    """

    text: str
    address: Address | None = None

    def __str__(self) -> str:
        return f"[{self.text}]" if isinstance(self.address, IPv6Address) else self.text


def canonical_host(written: str) -> Host:
    """Bring a host into its only spelling.

    Raises:
        TargetError: It is no host, or might be read as several.
    """
    if len(written) > _LONGEST_SPELLING:
        raise TargetError(f"a host of {len(written)} letters is refused; names are at most 253")
    text = _decoded(written)
    if text.startswith("["):
        if not text.endswith("]"):
            raise _no_host(written)
        return _of_address(_ipv6(text[1:-1], written))
    if ":" in text:
        return _of_address(_ipv6(text, written))
    name = _ascii(text, written).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _of_address(_ipv4(labels, written))
    if len(name) > _LONGEST or not all(_LABEL.fullmatch(label) for label in labels):
        raise _no_host(written)
    return Host(name)


def canonical_address(address: Address) -> Address:
    """Write an IPv4 address that is dressed as IPv6 as what it is."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def split_authority(authority: str, default_port: int | None = None) -> tuple[Host, int]:
    """Take `host:port` apart.

    Args:
        authority: As it stands in a request.
        default_port: The port where none is written; None where one must be.

    Raises:
        TargetError: It is not of this form.
    """
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        host += bracket
        if rest and not rest.startswith(":"):
            raise _no_host(authority)
        has_port, port = bool(rest), rest[1:]
    else:
        host, colon, port = authority.partition(":")
        has_port = bool(colon)
    if not has_port:
        if default_port is None:
            raise TargetError(f"{authority!r} names no port; write it as host:port")
        return canonical_host(host), default_port
    return canonical_host(host), canonical_port(port)


def canonical_port(written: str) -> int:
    """Read a port; raises `TargetError` for anything but 1 to 65535 in ASCII digits."""
    if not _PORT.fullmatch(written) or not 0 < int(written) < 65536:
        raise TargetError(f"{written[:20]!r} is no port; it is a number from 1 to 65535")
    return int(written)


def _of_address(address: Address) -> Host:
    address = canonical_address(address)
    return Host(str(address), address)


def _decoded(written: str) -> str:
    """Undo percent-encoding once; a name that still has some was encoded twice."""
    if "%" not in written:
        return written
    try:
        text = unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        raise _no_host(written) from None
    if "%" in text:
        raise _no_host(written)
    return text


def _ascii(text: str, written: str) -> str:
    """Map a name to ASCII as browsers and resolvers do; digits of other scripts become digits."""
    if text.isascii() and "xn--" not in text.lower():
        return text.lower()
    import idna

    try:
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
        if mapped.isascii() and "xn--" not in mapped:
            return mapped
        return idna.encode(mapped, strict=False, uts46=False).decode().lower()
    except (idna.IDNAError, UnicodeError):
        raise _no_host(written) from None


def _ipv4(labels: list[str], written: str) -> IPv4Address:
    """Read the forms of `inet_aton`: 1 to 4 parts in decimal, octal or hexadecimal."""
    if len(labels) > 4:
        raise _no_host(written)
    numbers = [_part(label, written) for label in labels]
    *front, last = numbers
    if any(number > 255 for number in front) or last >= 256 ** (5 - len(numbers)):
        raise _no_host(written)
    value = last
    for at, number in enumerate(front):
        value += number << (8 * (3 - at))
    return IPv4Address(value)


def _part(label: str, written: str) -> int:
    if not _NUMBER.fullmatch(label):
        raise _no_host(written)
    try:
        if label.startswith("0x"):
            return int(label[2:] or "0", 16)
        if label.startswith("0") and label != "0":
            return int(label, 8)
        return int(label, 10)
    except ValueError:
        raise _no_host(written) from None


def _ipv6(text: str, written: str) -> IPv6Address:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise _no_host(written) from None
    if address.scope_id is not None:
        raise TargetError(f"{written!r} names a network interface; leave the part from % out")
    return address


def _no_host(written: str) -> TargetError:
    return TargetError(f"{written[:80]!r} is no host name and no address")
