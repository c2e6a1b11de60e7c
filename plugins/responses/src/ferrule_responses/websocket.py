"""Requests over one WebSocket per session, and over HTTP wherever that does not go well.

A connection that is lost is opened anew once, and the whole conversation sent; when that fails as
well, or there is no connection in the first place, the session goes on over HTTP. What was told to
the kernel of a lost response is never told again: the kernel makes the next request, with it.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import Completed, ItemDone
from ferrule_responses.chain import Chain
from ferrule_responses.setback import SetbackError, error_message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_responses.connection import Connection
    from ferrule_responses.http import HttpTransport
    from ferrule_wire.credentials import Credentials
    from ferrule_wire.settings import ProviderSettings

_SETBACKS: Final = 2


class WebSocketTransport:
    """Sends over a WebSocket what the server does not know yet."""

    def __init__(
        self,
        settings: ProviderSettings,
        credentials: Credentials,
        over_http: HttpTransport,
        connect_timeout_s: float,
    ) -> None:
        """Connect to nothing and import nothing heavy."""
        self._settings = settings
        self._credentials = credentials
        self._over_http = over_http
        self._connect_timeout_s = connect_timeout_s
        self._connection: Connection | None = None
        self._chain = Chain()
        self._is_busy = False
        self._setbacks = 0  # since the last response that was complete
        self._told = _Told(settings.stream_max_retries)

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_responses.connection  # noqa: F401 -- imported for the first request

        self._over_http.prewarm()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`."""
        # A connection carries one response at a time.
        while self._setbacks < _SETBACKS and not self._is_busy:
            has_begun = False
            try:
                async with aclosing(self._exchange(request, {})) as events:
                    async for event in events:
                        has_begun = True
                        yield event
            except SetbackError as setback:
                self._setbacks = _SETBACKS if setback.is_final else self._setbacks + 1
                if has_begun or self._told.has_room(request.turn_id):
                    raise self._to_tell(setback, request.turn_id) from setback
            except ProviderError as error:
                self._told.add(request.turn_id)
                raise self._credentials.redacted(error) from None
            else:
                return
        async with aclosing(self._over_http.stream(request)) as events:
            async for event in events:
                yield event

    async def warm_up(self, request: ModelRequest) -> None:
        """Have the server read what a session's first request will begin with.

        Costs the tokens of that beginning once more, so only worth it where time passes before the
        first request. A server or line that does not want it is of no concern here.
        """
        if self._setbacks >= _SETBACKS or self._is_busy or self._connection is not None:
            return
        beginning = request._replace(input=_beginning(request.input))
        try:
            async with aclosing(self._exchange(beginning, {"generate": False})) as events:
                async for _ in events:
                    pass
        except SetbackError as setback:
            self._setbacks = _SETBACKS if setback.is_final else self._setbacks
        except ProviderError:
            return  # the first request will say so, if it still holds then

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connection is not None:
            await self._connection.aclose()
        await self._over_http.aclose()

    async def _exchange(
        self, request: ModelRequest, extra: Mapping[str, object]
    ) -> AsyncGenerator[ModelEvent]:
        """Send one request and read its response; any other end of it drops the connection."""
        from ferrule_responses.body import encode, request_fields
        from ferrule_responses.decoder import ResponseDecoder
        from ferrule_responses.freeform import disguised_tools
        from ferrule_responses.history import input_items, reading_of

        fields = request_fields(request)
        self._is_busy = True
        is_whole = False
        try:
            connection = await self._connected(request.thread_id)
            frame = {"type": "response.create", **self._chain.follow_up(fields), **extra}
            del frame["stream"]  # goes without saying on this wire
            await connection.send(encode(frame))
            decoder = ResponseDecoder(disguised_tools(request))
            answered: list[HistoryItem] = []
            reading = reading_of(request)
            while not is_whole:
                for event in decoder.take(self._parsed(await connection.receive())):
                    if isinstance(event, ItemDone):
                        answered += input_items([event.item], reading)
                    elif isinstance(event, Completed):
                        self._chain.extend(fields, answered, event.response_id)
                        self._setbacks = 0
                        self._told.clear()
                        is_whole = True
                    yield event
                if decoder.failure:
                    raise decoder.failure
        finally:
            self._is_busy = False
            if not is_whole:
                self._drop()

    async def _connected(self, thread_id: str) -> Connection:
        """Return the connection; one that was closed meanwhile is opened anew, as HTTP does it."""
        if self._connection is not None and await self._connection.is_open():
            return self._connection
        self._chain.forget()
        try:
            self._connection = await self._open(thread_id)
        except SetbackError as setback:
            is_refused = setback.status == HTTPStatus.UNAUTHORIZED
            if not (is_refused and self._credentials.is_renewable):
                raise
            self._credentials.forget()
            self._connection = await self._open(thread_id)
        return self._connection

    async def _open(self, thread_id: str) -> Connection:
        from ferrule_responses.connection import open_connection
        from ferrule_responses.identity import upgrade_headers
        from ferrule_wire.channel import target_of

        headers = upgrade_headers(thread_id) | await self._credentials.headers()
        target = target_of(self._settings, "responses")
        return await open_connection(target, headers, self._connect_timeout_s)

    def _parsed(self, message: str | bytes) -> Mapping[str, object]:
        """Read a message of the server.

        Raises:
            SetbackError: It ends the connection, or is none.
            ProviderError: It says that the request failed.
        """
        try:
            payload: object = json.loads(message)
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            raise SetbackError("the server sent a message that is no JSON object")
        table = cast("Mapping[str, object]", payload)
        if table.get("type") == "error":
            raise error_message(table, self._shown_url())
        return table

    def _drop(self) -> None:
        """End a connection on which a response may be under way."""
        self._chain.forget()
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    def _to_tell(self, setback: SetbackError, turn_id: str) -> ProviderError:
        self._told.add(turn_id)
        is_over = self._setbacks >= _SETBACKS
        outlook = "going on over HTTP" if is_over else "connecting again"
        return self._credentials.redacted(setback.told(self._shown_url(), outlook))

    def _shown_url(self) -> str:
        from ferrule_wire.channel import target_of

        return target_of(self._settings, "responses").shown_url


class _Told:
    """Counts the errors after which the kernel makes a request again, as the kernel does.

    Where it would not do so any more, a setback is better overcome without telling it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._turn_id = ""
        self._count = 0

    def has_room(self, turn_id: str) -> bool:
        """Whether the kernel would make the request once more."""
        return self._limit > (self._count if turn_id == self._turn_id else 0)

    def add(self, turn_id: str) -> None:
        """Count an error."""
        self._count = self._count + 1 if turn_id == self._turn_id else 1
        self._turn_id = turn_id

    def clear(self) -> None:
        """Begin anew: a response was complete."""
        self._count = 0


def _beginning(items: Sequence[HistoryItem]) -> list[HistoryItem]:
    """Return what stands before the first word of the user."""
    users = (n for n, item in enumerate(items) if item.get("role") not in ("developer", "system"))
    return list(items[: next(users, len(items))])
