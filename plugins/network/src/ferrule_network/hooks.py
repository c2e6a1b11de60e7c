"""The hook of the network plugin: the proxy as the managed network of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from ferrule_hookspecs.egress import Egress
    from ferrule_hookspecs.plugins import PluginContext


@hookimpl
async def ferrule_egress(context: PluginContext) -> Egress:
    """Offer the proxy; it starts with the first command."""
    from ferrule_network.egress import ProxyEgress

    return ProxyEgress(context)
