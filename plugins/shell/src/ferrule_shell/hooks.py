"""What the kernel calls: clients of a server see and end commands that a thread left running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcMethod


@hookimpl
def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Add `thread/backgroundTerminals/*`."""
    from ferrule_shell.rpc_methods import METHODS

    return METHODS
