"""Errors of `ferrule exec` itself, whose texts are shown as they are."""

from __future__ import annotations

from ferrule_hookspecs.errors import FerruleError


class ExecError(FerruleError):
    """Something about the invocation is wrong; nothing was started."""
