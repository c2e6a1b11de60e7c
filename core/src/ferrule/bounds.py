"""What commands may use in every confining mode, from the configuration. Called by `policy.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule.byte_sizes import parse_bytes
from ferrule_hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hookspecs.policies import PermissionProfile
    from ferrule_hookspecs.sandbox import ResolvedPolicy

_MAX_PROCESSES: Final = 1024


def with_bounds(policy: ResolvedPolicy, config: Mapping[str, object]) -> ResolvedPolicy:
    """Put `sandbox_max_processes`, `sandbox_max_memory` and `sandbox_debugging` into a policy.

    Raises:
        ConfigError: One of them makes no sense.
    """
    processes, memory = (config.get(f"sandbox_max_{name}") for name in ("processes", "memory"))
    try:
        most = None if memory is None else parse_bytes(memory)
    except ValueError as error:
        raise ConfigError(f"`sandbox_max_memory`: {error}") from None
    return policy._replace(
        max_processes=processes if isinstance(processes, int) else _MAX_PROCESSES,
        max_memory_bytes=most,
        debugging=config.get("sandbox_debugging") is True,
    )


def with_profile_bounds(policy: ResolvedPolicy, profile: PermissionProfile) -> ResolvedPolicy:
    """Put a profile's bounds on top: of two the smaller counts; debugging is granted by either."""
    return policy._replace(
        max_processes=_smaller(policy.max_processes, profile.get("maxProcesses")),
        max_memory_bytes=_smaller(policy.max_memory_bytes, profile.get("maxMemoryBytes")),
        debugging=policy.debugging or profile.get("debugging", False),
    )


def _smaller(first: int | None, second: int | None) -> int | None:
    return min((each for each in (first, second) if each is not None), default=None)
