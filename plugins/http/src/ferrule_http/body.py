"""Reads the bodies of requests: no more than is allowed, of one request and of all together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ferrule_gate.http_socket import SECOND_LOOK_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import Message

    from ferrule_gate.limits import Limits


class BodyError(Exception):
    """A body is not read; the status says why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class BodyReader:
    """Reads bodies, of which a bounded number of bytes is kept at a time, by whomever."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.max_message_bytes
        self._pause_s = limits.handshake_timeout_s
        self._left = 2 * limits.max_message_bytes

    @asynccontextmanager
    async def reading(self, request: Request) -> AsyncIterator[bytes]:
        """Give out the body, which counts until the block is left; raises `BodyError`."""
        announced = request.headers.get("Content-Length", "0")
        if not announced.isdecimal() or len(announced) > 18 or int(announced) > self._limit:
            raise self._too_large()
        body = bytearray()
        has_more = True
        try:
            while has_more:
                part = await self._next(request)
                chunk: bytes = part.get("body", b"")
                has_more = part.get("more_body", False)
                body += chunk
                self._left -= len(chunk)
                if len(body) > self._limit:
                    raise self._too_large()
                if self._left < 0:
                    raise BodyError(503, "Too many large messages at once.\n")
            yield bytes(body)
        finally:
            self._left += len(body)

    async def _next(self, request: Request) -> Message:
        for wait_s in (self._pause_s, SECOND_LOOK_S):
            with anyio.move_on_after(wait_s):
                part = await request.receive()
                if part["type"] == "http.disconnect":
                    raise BodyError(400, "The message broke off.\n")
                return part
        raise BodyError(408, "The message did not come.\n")

    def _too_large(self) -> BodyError:
        return BodyError(413, f"A message may have at most {self._limit} bytes.\n")
