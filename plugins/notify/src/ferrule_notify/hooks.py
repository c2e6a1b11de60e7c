"""Runs the `notify` program when a turn is complete. Nothing is loaded where none is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from ferrule_hookspecs.hooks import Notification
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
async def ferrule_notify(notification: Notification, context: PluginContext) -> None:
    """Run the program with one argument: what happened, as JSON."""
    configured = context.config.get("notify")
    if not configured or notification.kind != "turn_complete":
        return
    from ferrule_notify.program import argv_from, message, run

    argv = (*argv_from(configured), message(notification))
    await run(argv, cwd=notification.cwd, environ=context.environ)
