"""A header with a secret that the proxy puts into requests to one host; commands never have it.

The configuration names where the secret is, a variable of Ferrule's own environment or a program
that prints it: the file itself can be read by commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import anyio

from ferrule_hookspecs.errors import ConfigError, FerruleError
from ferrule_network.host import TargetError, split_authority
from ferrule_network.rule import NetworkRule, build_rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(rb"[!-~](?:[ -~]*[!-~])?")
_FRAMING: Final = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer")
)
_KEYS: Final = frozenset(("host", "header", "value", "command"))
_OUTPUT: Final = "${OUTPUT}"
_PROGRAM_S: Final = 30.0
_HTTPS: Final = 443


class SecretError(FerruleError):
    """The secret for a host is not to be had, so nothing is sent there."""


@dataclass(frozen=True, slots=True)
class HostSecret:
    """A header for a host.

    Attributes:
        where: The host and the port.
        header: The header's name.
        value: What it holds; `${NAME}` is a variable, `${OUTPUT}` what `command` prints.
        command: A program that prints the secret; empty for none.
    """

    where: NetworkRule
    header: str
    value: str
    command: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables whose values are secret."""
        return tuple(name for name in _VARIABLE.findall(self.value) if f"${{{name}}}" != _OUTPUT)

    async def header_for(self, environ: Mapping[str, str]) -> tuple[bytes, bytes]:
        """Read the secret.

        Raises:
            SecretError: It is not there; the message never holds any part of it.
        """
        known = dict(environ)
        if self.command:
            known["OUTPUT"] = await self._printed(environ)
        missing = [name for name in _VARIABLE.findall(self.value) if not known.get(name)]
        if missing:
            raise SecretError(
                f"the credential for {self.where.host} is not there: {missing[0]} is not set in the"
                " environment of Ferrule"
            )
        value = _VARIABLE.sub(lambda found: known[found[1]], self.value)
        written = value.encode("utf-8", "surrogateescape")
        if not _VALUE.fullmatch(written):
            raise SecretError(f"the credential for {self.where.host} is no value of a header")
        return self.header.encode(), written

    async def _printed(self, environ: Mapping[str, str]) -> str:
        try:
            with anyio.fail_after(_PROGRAM_S):
                done = await anyio.run_process(self.command, env=environ, check=False)
        except (OSError, TimeoutError) as error:
            why = "takes too long" if isinstance(error, TimeoutError) else "cannot be started"
        else:
            if done.returncode == 0:
                return done.stdout.decode("utf-8", "surrogateescape").strip()
            why = f"failed with status {done.returncode}"
        raise SecretError(
            f"the program {self.command[0]!r}, which prints the credential for {self.where.host},"
            f" {why}"
        )


def read_secret(entry: Mapping[str, object], place: str) -> HostSecret:
    """Read one entry of the configuration.

    Raises:
        ConfigError: It cannot be used.
    """
    if unknown := sorted(set(entry) - _KEYS):
        raise ConfigError(f"{place} knows no {unknown[0]!r}; it has {', '.join(sorted(_KEYS))}")
    where = _where(entry.get("host"), place)
    header, value, command = entry.get("header"), entry.get("value"), entry.get("command", ())
    if not isinstance(header, str) or not _HEADER.fullmatch(header) or header.lower() in _FRAMING:
        raise ConfigError(f"header of {place} must be the name of a header, not {header!r}")
    words = cast("Sequence[object]", command) if isinstance(command, (list, tuple)) else None
    if words is None or not all(isinstance(word, str) for word in words):
        raise ConfigError(f"command of {place} must be a list of words")
    if value is None and words:
        value = _OUTPUT
    if not isinstance(value, str) or not _VARIABLE.search(value):
        raise ConfigError(
            f"value of {place} must name a variable as in 'Bearer ${{NAME}}', since commands can"
            " read this file and must not find the secret in it"
        )
    if (_OUTPUT in value) is not bool(words):
        raise ConfigError(f"`command` and ${{OUTPUT}} of {place} belong together")
    return HostSecret(where, header, value, tuple(map(str, words)))


def _where(host: object, place: str) -> NetworkRule:
    """The rule whose targets get the header: strict, and port 443 where none is written."""
    if not isinstance(host, str):
        raise ConfigError(f"host of {place} must be a text such as 'api.example.com'")
    name, star, rest = host.rpartition("*.")
    try:
        found, port = split_authority(rest, _HTTPS)
    except TargetError as error:
        raise ConfigError(f"host of {place}: {error}") from None
    options = {"host": f"{name}{star}{found}", "protocol": "https", "port": str(port)}
    if found.address is not None:
        options["host"] = found.text
    return build_rule("allow", options, place)
