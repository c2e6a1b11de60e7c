"""The table `[transports.http]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_gate.gate import GUARD_KEYS
from ferrule_gate.limits import Limits, limits_from, refuse_unknown, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping


class Settings(NamedTuple):
    """What the transport bears; each is a key of its table, as are those of `limits`.

    Attributes:
        limits: What network transports share.
        requests_per_second: Messages of one client; twice as many may come at once.
        replay_events: Events kept for a client that comes back.
        replay_bytes: Most bytes of them; one event may be larger.
        idle_timeout_s: A client that neither reads nor sends for so long is gone.
        keep_alive_s: How often a silent stream says that it is alive.
    """

    limits: Limits = Limits()
    requests_per_second: int = 500
    replay_events: int = 10_000
    replay_bytes: int = 16 * 1024 * 1024
    idle_timeout_s: int = 300
    keep_alive_s: int = 15


def read_settings(table: Mapping[str, object], where: str) -> Settings:
    """Read the table; raises `ConfigError` for what means nothing."""
    own = {key: value for key, value in Settings()._asdict().items() if key != "limits"}
    refuse_unknown(table, {*own, *Limits._fields, *GUARD_KEYS}, where)
    numbers = {key: whole_number(table, key, value, where) for key, value in own.items()}
    return Settings(limits=limits_from(table, where), **numbers)
