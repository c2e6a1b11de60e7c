"""The driver of the slot `ferrule.servers`; nothing heavy is imported before it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ferrule_hookspecs.host import ConfigRequest, Kernel
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import Server


class AppServerDriver:
    """Makes app-servers; satisfies the contract's `ServerDriver`."""

    name = "app-server"

    def __init__(self, context: PluginContext) -> None:
        self._home = str(context.home)
        self._settings = context.settings

    def open(self, kernel: Kernel, request: ConfigRequest) -> AbstractAsyncContextManager[Server]:
        """Serve a kernel until the block is left."""
        from ferrule_app_server.limits import read_limits
        from ferrule_app_server.server import serving

        return serving(kernel, request, self._home, read_limits(self._settings))
