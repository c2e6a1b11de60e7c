"""The answer to a request that is not granted: a status, a sentence, and the end of the socket."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import anyio
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_DISCARDED: Final = 256 * 1024
_DISCARDED_S: Final = 1


class Refusal(PlainTextResponse):
    """Reads what is left of a small body first, and leaves a large one unread.

    A socket that is closed with something unread is reset, and the client may never see the answer.
    """

    def __init__(self, status: int, text: str, wait_s: float | None = None) -> None:
        headers = {"Connection": "close"}
        if wait_s is not None:
            headers["Retry-After"] = str(math.ceil(wait_s))
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        super().__init__(text, status, headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        left = _DISCARDED
        with anyio.move_on_after(_DISCARDED_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    break
        await super().__call__(scope, receive, send)
