"""A rule about hosts, and how one is written: `allow network protocol:https host:*.example.com`.

Allowing is strict, restricting is lenient. An allowing rule speaks for the default ports of its
protocol where it names none, and for an address only where it names that address. A rule that asks
or denies speaks for every port, for names and addresses, and for tunnels whose content it cannot
see.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from ferrule_hookspecs.errors import ConfigError
from ferrule_network.host import Host, TargetError, canonical_host, canonical_port
from ferrule_network.request_path import allows, is_pattern, restricts

Decision = Literal["allow", "ask", "deny"]
Protocol = Literal["http", "https", "socks5_tcp"]
STRICTNESS: Final[dict[Decision, int]] = {"allow": 0, "ask": 1, "deny": 2}
_DECISIONS: Final[dict[str, Decision]] = {
    "allow": "allow",
    "ask": "ask",
    "prompt": "ask",
    "deny": "deny",
    "forbidden": "deny",
}
_PROTOCOLS: Final = {
    "http": "http",
    "https": "https",
    "https_connect": "https",
    "http-connect": "https",
    "socks5_tcp": "socks5_tcp",
    "socks5_udp": "socks5_udp",
}
_DEFAULT_PORTS: Final = {"http": (80,), "https": (443,), "": (80, 443)}
METHOD: Final = re.compile(r"[A-Z][A-Z-]*")
_ANY: Final = ("*", "**")
_PARTS: Final = ("protocol", "host", "port", "method", "path", "because")


class Target(NamedTuple):
    """What a command wants to reach.

    Attributes:
        host: Where.
        port: Which port.
        protocol: `http` is a request that the proxy reads, `https` a tunnel by CONNECT, or a
            request within one that the proxy opens.
        method: The method of a request that the proxy reads; empty for tunnels.
        path: Its path without the query; empty for tunnels.
    """

    host: Host
    port: int
    protocol: Protocol
    method: str = ""
    path: str = ""

    def __str__(self) -> str:
        what = self.method or {"https": "CONNECT", "socks5_tcp": "SOCKS5"}.get(self.protocol, "")
        return f"{what} {self.host}:{self.port}"

    @property
    def is_tunnel(self) -> bool:
        """Whether nobody sees what is in it."""
        return not self.method

    @property
    def rule_text(self) -> str:
        """The smallest rule that allows it."""
        rule = f"allow network protocol:{self.protocol} host:{self.host.text} port:{self.port}"
        if self.protocol != "https" or self.is_tunnel:
            return rule
        path = f" path:{self.path}" if is_pattern(self.path) and not {*self.path} & {*"\"'"} else ""
        return f"{rule} method:{self.method}{path}"


@dataclass(frozen=True, slots=True)
class NetworkRule:
    """A rule about hosts.

    Attributes:
        decision: What is decided.
        host: One host, `*.` and a domain for all hosts below it, or `**` for all.
        protocol: Which one; empty for any.
        ports: Which ones; none for the protocol's own where it allows, for all where it does not.
        methods: Which ones; none for any.
        paths: Patterns of them; none for any.
        reason: Why, for whoever is asked or refused.
        place: Where the rule stands.
    """

    decision: Decision
    host: str
    protocol: str = ""
    ports: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    reason: str = ""
    place: str = ""

    def covers(self, target: Target) -> bool:
        """Whether the rule speaks for a target."""
        if self.decision == "allow":
            return self._allows(target)
        return (
            self.names(target.host)
            and (self.protocol in ("", target.protocol) or target.protocol == "socks5_tcp")
            and (not self.ports or target.port in self.ports)
            and (not self.methods or target.is_tunnel or target.method in self.methods)
            and (
                not self.paths
                or target.is_tunnel
                or any(restricts(path, target.path) for path in self.paths)
            )
        )

    def _allows(self, target: Target) -> bool:
        ports = self.ports or _DEFAULT_PORTS.get(self.protocol, ())
        return (
            self.names(target.host)
            and (target.host.address is None or self.host not in _ANY)
            and self.protocol in ("", target.protocol)
            and target.port in ports
            and (not self.methods or target.method in self.methods)
            and (not self.paths or any(allows(path, target.path) for path in self.paths))
        )

    def is_blind_to(self, target: Target) -> bool:
        """Whether it would have to look into a tunnel to allow it."""
        return (
            self.decision == "allow"
            and target.protocol == "https"
            and target.is_tunnel
            and self.protocol in ("", "https")
            and bool(self.methods or self.paths)
            and self.names(target.host)
        )

    def names(self, host: Host) -> bool:
        """Whether it is about a host, by whatever port and protocol."""
        if self.host in _ANY:
            return True
        if self.host.startswith("*."):
            return host.address is None and host.text.endswith(self.host[1:])
        return host.text == self.host

    def __str__(self) -> str:
        parts = [
            f"{self.decision} network",
            *([f"protocol:{self.protocol}"] if self.protocol else []),
            f"host:{self.host}",
            *([f"port:{','.join(map(str, self.ports))}"] if self.ports else []),
            *([f"method:{','.join(self.methods)}"] if self.methods else []),
            *([f"path:{','.join(self.paths)}"] if self.paths else []),
        ]
        return " ".join(parts)


def parse_rule(line: str, place: str) -> NetworkRule:
    """Read one rule.

    Args:
        line: Such as `allow network protocol:https host:*.github.com port:443`.
        place: Where it stands, for messages.

    Raises:
        ConfigError: It is no such rule.
    """
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise _wrong(place, line, str(error).lower()) from None
    if len(words) < 2 or words[0] not in _DECISIONS or words[1] != "network":
        raise _wrong(place, line, "it begins with allow, ask or deny and `network`")
    options: dict[str, str] = {}
    for word in words[2:]:
        name, colon, value = word.partition(":")
        if not colon or name not in _PARTS:
            parts = ", ".join(f"{part}:" for part in _PARTS)
            raise _wrong(place, line, f"{word!r} is none of {parts}")
        if name in options:
            raise _wrong(place, line, f"`{name}:` stands there twice")
        options[name] = value
    return build_rule(words[0], options, place)


def build_rule(decision: str, options: dict[str, str], place: str) -> NetworkRule:
    """Make a rule of its parts; raises `ConfigError` for parts that are not usable."""
    line = f"{decision} network {' '.join(f'{name}:{value}' for name, value in options.items())}"
    if decision not in _DECISIONS:
        raise _wrong(place, line, "it begins with allow, ask or deny")
    protocol = options.get("protocol", "")
    if protocol and protocol not in _PROTOCOLS:
        raise _wrong(place, line, f"the protocol is one of {', '.join(_PROTOCOLS)}")
    methods, paths = (
        tuple(options[name].split(",")) if name in options else () for name in ("method", "path")
    )
    if not all(METHOD.fullmatch(method) for method in methods):
        raise _wrong(place, line, "methods are words in capitals such as GET,HEAD")
    if not all(map(is_pattern, paths)):
        raise _wrong(place, line, "paths are written plainly from / on, such as /v1/*")
    if (methods or paths) and protocol.startswith("socks"):
        raise _wrong(place, line, "methods and paths are not seen inside of SOCKS5 tunnels")
    try:
        ports = tuple(map(canonical_port, options["port"].split(","))) if "port" in options else ()
        host = _pattern(options.get("host", ""))
    except TargetError as error:
        raise _wrong(place, line, str(error)) from None
    chosen = _DECISIONS[decision]
    reason = options.get("because", "")
    kind = _PROTOCOLS.get(protocol, "")
    return NetworkRule(chosen, host, kind, ports, methods, paths, reason, place)


def _pattern(written: str) -> str:
    if written in _ANY:
        return "**"
    if written.startswith("*."):
        below = canonical_host(written[2:])
        if below.address is not None:
            raise TargetError("there are no hosts below an address")
        return f"*.{below.text}"
    if "*" in written:
        raise TargetError("`*` stands alone or as the first part, as in *.example.com")
    return canonical_host(written).text


def _wrong(place: str, line: str, why: str) -> ConfigError:
    return ConfigError(f"{place}: {line.strip()!r} is no rule about the network: {why}")
