"""The methods `account/*` of servers that speak JSON-RPC. Nothing is loaded until one is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.serving import RpcMethod


@hookimpl
def ferrule_rpc_methods(context: PluginContext) -> Sequence[RpcMethod]:
    """Offer the methods; logins under way belong to the server that asked for them."""
    from ferrule_login.methods import account_methods

    return account_methods(context.home, context.environ)
