"""A running server behind HTTP: messages are posted, its own come as server-sent events.

A stream that breaks is taken up again behind the last event that was seen.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import anyio

from ferrule_sdk.channels.loopback import is_loopback
from ferrule_sdk.errors import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    import httpx

_CLIENT_HEADER: Final = "Ferrule-Connection"
_CONNECT_S: Final = 10.0
_SILENCE_S: Final = 90.0
"""Longer than the server ever says nothing on a stream that works."""
_ATTEMPTS: Final = 5
_FIRST_PAUSE_S: Final = 0.1
_INBOX: Final = 64


class SentEvent(NamedTuple):
    """One server-sent event."""

    id: str
    kind: str
    data: bytes


class HttpChannel:
    """A channel over HTTP."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._seen = "0"
        self._put, self._inbox = anyio.create_memory_object_stream[bytes](_INBOX)
        self._lost: ConnectionLostError | None = None

    async def send(self, message: bytes) -> None:
        """Post a message; again where the server is not ready for it yet."""
        import httpx

        pause = _FIRST_PAUSE_S
        headers = {"Content-Type": "application/json"}
        for attempt in range(_ATTEMPTS):
            try:
                answer = await self._http.post("/rpc", content=message, headers=headers)
            except httpx.ConnectError as error:  # nothing was sent, so it may be sent again
                if attempt == _ATTEMPTS - 1:
                    raise self._gone(error) from error
            except httpx.HTTPError as error:
                raise self._gone(error) from error
            else:
                if answer.status_code not in {429, 503}:
                    self._check(answer.status_code, answer.text)
                    return
                pause = max(pause, _seconds(answer.headers.get("Retry-After")))
            await anyio.sleep(pause)
            pause *= 2
        raise ConnectionLostError(f"{self._url} takes no messages: it has too much to do")

    async def receive(self) -> bytes:
        """Take the next message."""
        try:
            return await self._inbox.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise self._lost or ConnectionLostError("the connection was closed") from None

    def close(self) -> None:
        """Take nothing any more."""
        self._inbox.close()
        self._put.close()

    async def follow(self) -> None:
        """Read the events until the server has no more or cannot be reached any more."""
        import httpx

        failures = 0
        try:
            while True:
                before = self._seen
                try:
                    await self._read_stream()
                except httpx.HTTPError as error:
                    failures = 1 if self._seen != before else failures + 1
                    if failures == _ATTEMPTS:
                        raise self._gone(error) from error
                await anyio.sleep(_FIRST_PAUSE_S * 2**failures)
        except ConnectionLostError as error:
            self._lost = error
        finally:
            self._put.close()

    async def _read_stream(self) -> None:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self._seen}
        async with self._http.stream("GET", "/events", headers=headers) as answer:
            if answer.status_code != 200:
                self._check(answer.status_code, (await answer.aread()).decode("utf-8", "replace"))
            async for event in sent_events(answer.aiter_bytes()):
                if event.kind == "gap":
                    missing = event.data.decode("utf-8", "replace")
                    raise ConnectionLostError(
                        f"{self._url} does not keep what was missed: {missing}"
                    )
                if event.id:
                    self._seen = event.id
                try:
                    await self._put.send(event.data)
                except anyio.BrokenResourceError:
                    raise ConnectionLostError("the connection was closed") from None

    def _check(self, status: int, text: str) -> None:
        if status == 401:
            raise ConnectionLostError(f"{self._url}: the token is missing or wrong (HTTP 401)")
        if status >= 400:
            raise ConnectionLostError(f"{self._url} (HTTP {status}): {text.strip()[:300]}")

    def _gone(self, error: Exception) -> ConnectionLostError:
        reason = str(error) or type(error).__name__
        return ConnectionLostError(f"the connection to {self._url} is lost: {reason}")


@asynccontextmanager
async def open_http(url: str, token: str | None) -> AsyncGenerator[HttpChannel]:
    """Connect to `http://…` or `https://…` for as long as the block lasts.

    Raises:
        ConnectionLostError: Nobody answers there, or the server does not let us in.
    """
    import httpx

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
    client = httpx.AsyncClient(
        base_url=url, headers=headers, timeout=timeout, trust_env=not is_loopback(url)
    )
    async with client as http:
        try:
            answer = await http.post("/connection")
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ConnectionLostError(f"cannot connect to {url}: {reason}") from error
        http.headers[_CLIENT_HEADER] = _secret(answer, url)
        channel = HttpChannel(http, url)
        async with anyio.create_task_group() as group:
            group.start_soon(channel.follow)
            try:
                yield channel
            finally:
                channel.close()
                group.cancel_scope.cancel()
                with anyio.move_on_after(1, shield=True):
                    await _close(http)


def _secret(answer: httpx.Response, url: str) -> str:
    if answer.status_code == 401:
        raise ConnectionLostError(f"{url} does not let us in: the token is missing or wrong")
    if answer.status_code != 201:
        raise ConnectionLostError(f"{url} (HTTP {answer.status_code}): {answer.text.strip()[:300]}")
    return cast("dict[str, str]", json.loads(answer.content))["connection"]


async def _close(http: httpx.AsyncClient) -> None:
    import httpx

    try:
        await http.delete("/connection")
    except httpx.HTTPError:
        return  # the server has gone, and every connection with it


async def sent_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[SentEvent]:
    """Take server-sent events out of a stream of bytes."""
    rest = bytearray()
    fields: dict[str, bytes] = {}
    async for chunk in chunks:
        *lines, tail = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(rest) + lines[0]
            rest.clear()
        rest += tail
        for line in lines:
            if line:
                name, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                key = name.decode("utf-8", "replace")
                fields[key] = fields[key] + b"\n" + value if key in fields else value
            elif "data" in fields:
                yield SentEvent(
                    fields.get("id", b"").decode("utf-8", "replace"),
                    fields.get("event", b"").decode("utf-8", "replace"),
                    fields["data"],
                )
                fields = {}
            else:
                fields = {}


def _seconds(text: str | None) -> float:
    return float(text) if text and text.isdecimal() else 0.0
