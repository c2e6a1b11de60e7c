"""JSON-RPC over a channel: requests get their replies, the rest goes to a listener.

One task writes and one reads, so that a cancelled request never leaves half a message behind.
"""

from __future__ import annotations

import json
import logging
import random
from typing import TYPE_CHECKING, Final, Protocol, cast

import anyio

from ferrule_sdk.errors import ConnectionLostError, ServerError, server_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ferrule_sdk.channels.channel import Channel

    Json = dict[str, object]
    RequestId = int | str

_OUTBOX: Final = 64
_ATTEMPTS: Final = 8
_FIRST_PAUSE_S: Final = 0.05
_LATE_REPLY_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 2.0
_MISFITS: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What comes of reading a message that is not as the protocol says."""
_log = logging.getLogger("ferrule_sdk")


class Listener(Protocol):
    """Who hears what the server says by itself. Nothing here may wait."""

    def notified(self, method: str, params: Json) -> None:
        """Take a notification."""
        ...

    def asked(self, request_id: RequestId, method: str, params: Json) -> None:
        """Take a request; it is answered later."""
        ...

    def lost(self, error: ConnectionLostError) -> None:
        """There will be nothing more."""
        ...


class _Pending:
    """A request that waits for its reply."""

    def __init__(self, method: str, on_reply: Callable[[Json], None] | None) -> None:
        self.method = method
        self.on_reply = on_reply
        self.done = anyio.Event()
        self.result: Json = {}
        self.error: Exception | None = None


class Rpc:
    """One end of a connection."""

    def __init__(self, channel: Channel, listener: Listener) -> None:
        self._channel = channel
        self._listener = listener
        self._pending: dict[object, _Pending] = {}
        self._next_id = 0
        self._outbox, self._to_write = anyio.create_memory_object_stream[bytes](_OUTBOX)
        self._lost: ConnectionLostError | None = None

    async def run(self) -> None:
        """Write and read until the connection is lost or this is cancelled."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._write)
                await self._read()
                group.cancel_scope.cancel()
        finally:
            self.lose(ConnectionLostError("the connection was closed"))
            self._outbox.close()
            self._to_write.close()

    async def call(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        *,
        on_reply: Callable[[Json], None] | None = None,
    ) -> Json:
        """Ask the server, again a few times where it says that it is overloaded.

        Args:
            method: The method.
            params: Its parameters.
            on_reply: Called with the result before the message that follows it is looked at.

        Raises:
            ServerError: The server refuses.
            ConnectionLostError: It is gone.
        """
        pause = _FIRST_PAUSE_S
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._call_once(method, params, on_reply)
            except ServerError as error:
                if not error.is_overload:
                    raise
            await anyio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 -- spreads the load
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return await self._call_once(method, params, on_reply)

    async def notify(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Send a notification."""
        await self._send({"method": method} if params is None else _message(method, params))

    async def answer(self, request_id: RequestId, result: Mapping[str, object]) -> None:
        """Answer a request of the server."""
        await self._send({"id": request_id, "result": dict(result)})

    async def refuse(self, request_id: RequestId, message: str) -> None:
        """Answer a request of the server with an error."""
        await self._send({"id": request_id, "error": {"code": -32603, "message": message}})

    def lose(self, error: ConnectionLostError) -> None:
        """End everything that waits; the first reason counts."""
        if self._lost is not None:
            return
        self._lost = error
        for pending in self._pending.values():
            pending.error = error
            pending.done.set()
        self._pending.clear()
        self._listener.lost(error)

    async def _call_once(
        self,
        method: str,
        params: Mapping[str, object] | None,
        on_reply: Callable[[Json], None] | None,
    ) -> Json:
        self._next_id += 1
        request_id = self._next_id
        pending = self._pending[request_id] = _Pending(method, on_reply)
        try:
            await self._send({"id": request_id, **_message(method, params or {})})
            await self._wait(pending)
        finally:
            self._pending.pop(request_id, None)
        if pending.error is not None:
            raise pending.error
        return pending.result

    async def _wait(self, pending: _Pending) -> None:
        try:
            await pending.done.wait()
        except anyio.get_cancelled_exc_class():
            # Somebody must hear of what the request has begun, to end it.
            if pending.on_reply is not None:
                with anyio.move_on_after(_LATE_REPLY_S, shield=True):
                    await pending.done.wait()
            raise

    async def _send(self, message: Json) -> None:
        if self._lost is not None:
            raise self._lost
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        try:
            await self._outbox.send(text.encode("utf-8", "replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise self._lost or ConnectionLostError("the connection was closed") from None

    async def _write(self) -> None:
        try:
            async for message in self._to_write:
                await self._channel.send(message)
        except ConnectionLostError:
            # The reader learns of it as well, and knows better why.
            self._to_write.close()

    async def _read(self) -> None:
        try:
            while True:
                self._take(await self._channel.receive())
        except ConnectionLostError as error:
            self.lose(error)

    def _take(self, text: bytes) -> None:
        try:
            message: object = json.loads(text)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            _log.warning("the server sent what is no message: %.200r", text)
            return
        self._route(cast("Json", message))

    def _route(self, message: Json) -> None:
        method, request_id = message.get("method"), message.get("id")
        given = message.get("params")
        params = cast("Json", given) if isinstance(given, dict) else {}
        if isinstance(method, str) and isinstance(request_id, int | str):
            self._listener.asked(request_id, method, params)
        elif isinstance(method, str):
            try:
                self._listener.notified(method, params)
            except _MISFITS as error:
                _log.warning("a notification %s does not fit: %r", method, error)
        elif (pending := self._pending.pop(request_id, None)) is not None:
            _settle(pending, message)


def _message(method: str, params: Mapping[str, object]) -> Json:
    return {"method": method, "params": dict(params)}


def _settle(pending: _Pending, reply: Json) -> None:
    error, result = reply.get("error"), reply.get("result")
    if isinstance(error, dict):
        pending.error = server_error(pending.method, cast("Json", error))
    else:
        pending.result = cast("Json", result) if isinstance(result, dict) else {}
        if pending.on_reply is not None:
            try:
                pending.on_reply(pending.result)
            except _MISFITS as misfit:
                message = f"the reply does not fit: {misfit!r}"
                pending.error = ServerError(pending.method, message, 0, pending.result)
    pending.done.set()
