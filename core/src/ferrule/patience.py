"""How long plugin code is waited for, where a machine that stands still must not use it all up.

A machine that sleeps, or does nothing for a minute, is no fault of whoever was to answer.
"""

from __future__ import annotations

from typing import Final

_STEPS: Final = 20


def steps(limit_s: float) -> list[float]:
    """Divide a time limit: to stand still once takes one of the steps, and leaves the others."""
    return [limit_s / _STEPS] * _STEPS
