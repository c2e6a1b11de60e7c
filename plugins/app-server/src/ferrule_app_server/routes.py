"""Which module answers which method.

A module of this package that answers methods has a `METHODS` sequence of `RpcMethod`; it is
imported when the first of its methods is called. Names of the published protocol that stand in no
table, and that no plugin adds, are answered with an error that names them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ferrule_app_server.methods.routes import ROUTES

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACKAGE: Final = __package__


def _table(modules: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(
        {
            method: f"{_PACKAGE}.{module}"
            for module, methods in modules.items()
            for method in methods.split()
        }
    )


THREAD_ROUTES: Final = _table(
    {
        "thread_opening": "thread/start thread/resume thread/fork",
        "thread_reading": (
            "thread/list thread/read thread/turns/list thread/items/list thread/items/read"
            " thread/loaded/list thread/search"
        ),
        "thread_changes": (
            "thread/name/set thread/archive thread/unarchive thread/delete thread/unsubscribe"
            " thread/rollback thread/revert thread/metadata/update thread/inject_items"
            " thread/settings/update thread/readState/update"
        ),
        "turn_methods": (
            "turn/start turn/steer turn/interrupt thread/compact/start thread/shellCommand"
        ),
        "review_methods": "review/start",
    }
)
"""What the server itself answers about threads and turns."""

OTHER_ROUTES: Final = _table(ROUTES)
"""What the package `methods` answers; plugins cannot replace it."""

FALLBACK_ROUTES: Final = _table(
    {
        "fallbacks": (
            "account/read hooks/list skills/list account/rateLimits/read mcpServerStatus/list"
            " thread/goal/get thread/goal/clear thread/queue/list thread/attachment/list"
            " thread/backgroundTerminals/list thread/backgroundTerminals/clean plugin/list"
            " plugin/installed app/list app/installed project/list threadSection/list"
            " config/mcpServer/reload"
        ),
    }
)
"""What is answered, true and harmless, where no plugin answers it."""
