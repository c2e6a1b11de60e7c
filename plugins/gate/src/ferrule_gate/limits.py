"""How large, how many and how often, from the table `[transports.NAME]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import ConfigError
from ferrule_hookspecs.serving import MESSAGE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping


class Limits(NamedTuple):
    """What one transport bears; each is a key of its table.

    Attributes:
        max_message_bytes: A longer message is refused.
        max_connections: Clients at the same time.
        connections_per_second: New ones; twice as many may come at once.
        handshake_timeout_s: How long a client may take to say what it wants.
    """

    max_message_bytes: int = MESSAGE_LIMIT
    max_connections: int = 512
    connections_per_second: int = 200
    handshake_timeout_s: int = 10


def whole_number(table: Mapping[str, object], key: str, default: int, where: str) -> int:
    """Return a value that must be a whole number above zero; raises `ConfigError`."""
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{where}.{key} must be a whole number above 0, not {value!r}")
    return value


def texts(table: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    """Return a value that must be a list of texts; raises `ConfigError`."""
    value = table.get(key, ())
    found: tuple[object, ...] = tuple(value) if isinstance(value, list | tuple) else (None,)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    parts = tuple(part for part in found if isinstance(part, str))
    if len(parts) != len(found):
        raise ConfigError(f"{where}.{key} must be a list of texts, not {value!r}")
    return parts


def limits_from(table: Mapping[str, object], where: str) -> Limits:
    """Read the limits of a transport; raises `ConfigError`."""
    usual = Limits()._asdict()
    return Limits(**{key: whole_number(table, key, usual[key], where) for key in usual})


def refuse_unknown(table: Mapping[str, object], known: set[str], where: str) -> None:
    """Raise `ConfigError` for a key that means nothing: a limit misspelt is no limit."""
    unknown = sorted(set(table) - known)
    if unknown:
        raise ConfigError(f"{where} has no key {unknown[0]!r}; it has {', '.join(sorted(known))}")
