"""What a built-in method finds behind its `RpcCall`: the client's connection and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ferrule_app_server.connection import ClientConnection
    from ferrule_app_server.live_thread import LiveThread
    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.serving import RpcCall


def client_of(call: RpcCall) -> ClientConnection:
    """Return who called."""
    return cast("ClientConnection", call.client)


def server_of(call: RpcCall) -> AppServer:
    """Return the server that was called."""
    return client_of(call).server


def thread_of(call: RpcCall) -> LiveThread:
    """Return the open thread that a call is about.

    Raises:
        RpcError: It is not open.
    """
    return server_of(call).threads.require(str(call.params["threadId"]))
