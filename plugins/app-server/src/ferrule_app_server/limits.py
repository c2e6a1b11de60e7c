"""What the table `[servers.app-server]` of the configuration may say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Limits(NamedTuple):
    """How much a server keeps open.

    Attributes:
        unload_after_s: How long a thread stays open that nobody follows and that does nothing.
        max_clients: How many clients may be connected at once.
    """

    unload_after_s: float = 1800.0
    max_clients: int = 256


def read_limits(settings: Mapping[str, object]) -> Limits:
    """Read the table.

    Raises:
        ConfigError: A key is unknown, or its value no positive number.
    """
    found = Limits()._asdict()
    for key, value in settings.items():
        if key not in found:
            raise ConfigError(f"servers.app-server: unknown key `{key}`; known: {', '.join(found)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ConfigError(f"servers.app-server.{key} is {value!r}; give a positive number")
        found[key] = type(found[key])(value)
    return Limits(**found)
