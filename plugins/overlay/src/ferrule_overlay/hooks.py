"""The hook module `overlay`: has sessions that want one run in a view of the workspace."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl
from ferrule_hookspecs.errors import SessionRefusedError

if TYPE_CHECKING:
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.sandbox import ResolvedPolicy
    from ferrule_hookspecs.workspace_view import WorkspaceView


@hookimpl
def ferrule_workspace_view(context: PluginContext, policy: ResolvedPolicy) -> WorkspaceView | None:
    """Open the view, or go on with the one that the thread has."""
    if context.config.get("overlay") is not True and not _has_one(context):
        return None
    if sys.platform != "linux":
        raise SessionRefusedError("an overlay needs Linux; take overlay out of the configuration")
    from ferrule_overlay.opening import open_view

    return open_view(context, policy)


def _has_one(context: PluginContext) -> bool:
    return os.path.isdir(os.path.join(context.home, "overlays", context.thread_id))
