"""Errors of `ferrule exec` itself, whose texts are shown as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ExecError(FerruleError):
    """Something about the invocation is wrong; nothing was started."""


def error_text(params: Mapping[str, Any]) -> str:
    """Return what went wrong in a line; of what is tried again, why."""
    error = params["error"]
    details = error.get("additionalDetails")
    return (
        f"{error['message']} ({details})" if params["willRetry"] and details else error["message"]
    )
