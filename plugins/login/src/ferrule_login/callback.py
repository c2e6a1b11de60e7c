"""The address on this machine that the browser comes back to, once.

It listens on 127.0.0.1 only. A request counts if it has the state that was sent along; anything
else, such as a page that guesses, is refused and ends nothing.
"""

from __future__ import annotations

import re
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute

from ferrule_hookspecs.errors import FerruleError
from ferrule_wire.account import SignInError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import SocketStream

_REQUEST_LINE: Final = re.compile(rb"GET (/[^ ]*) HTTP/1\.[01]$")
_HOST_LINE: Final = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*?)[ \t]*(?:\r\n|$)", re.I)
_LARGEST: Final = 32 * 1024
_READ_S: Final = 10.0
_OUTCOME_S: Final = 60.0
_TELL_S: Final = 2.0
_Page = tuple[str, str, str]
_PAGE: Final = """\
<!doctype html><meta charset="utf-8"><title>Ferrule</title>
<body style="font-family: sans-serif; margin: 3em"><h1>{title}</h1><p>{text}</p>
"""


class Callback:
    """What waits for the browser.

    Attributes:
        redirect_uri: Where the browser has to come back to.
        state: What it has to bring along.
    """

    def __init__(self, redirect_uri: str, port: int) -> None:
        """Expect a browser at a port."""
        parts = urlsplit(redirect_uri)
        self.redirect_uri = parts._replace(netloc=f"{parts.hostname}:{port}").geturl()
        self.state = secrets.token_urlsafe(32)
        self._path = parts.path or "/"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._came = anyio.Event()
        self._settled = anyio.Event()
        self._told = anyio.Event()
        self._query: Mapping[str, str] = {}
        self._failure = ""

    async def query(self) -> Mapping[str, str]:
        """Wait for the browser; returns what it brought."""
        await self._came.wait()
        return self._query

    async def settle(self, failure: str = "") -> None:
        """Have the browser show how it ended, and wait a moment until it was told."""
        self._failure = failure
        self._settled.set()
        with anyio.move_on_after(_TELL_S):
            await self._told.wait()

    async def serve(self, stream: SocketStream) -> None:
        """Answer one connection."""
        try:
            async with stream:
                with anyio.fail_after(_READ_S):
                    head = await _read_head(stream)
                status, title, text = self._judged(head) or await self._outcome()
                with anyio.fail_after(_READ_S):
                    await stream.send(_response(status, title, text))
                if self._settled.is_set():
                    self._told.set()
        except (anyio.BrokenResourceError, anyio.EndOfStream, TimeoutError, OSError):
            return  # the browser went away; it may come again

    def _judged(self, head: bytes) -> _Page | None:
        """Refuse a request; None takes it."""
        line, _, rest = head.partition(b"\r\n")
        request = _REQUEST_LINE.match(line)
        host = _HOST_LINE.search(b"\r\n" + rest)
        if request is None or host is None or host[1].decode("latin-1") not in self._hosts:
            return "400 Bad Request", "Not understood", "This address is for signing in to Ferrule."
        parts = urlsplit(request[1].decode("latin-1"))
        if parts.path != self._path:
            return "404 Not Found", "Nothing here", "This address is for signing in to Ferrule."
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if not secrets.compare_digest(query.get("state", "").encode(), self.state.encode()):
            return "403 Forbidden", "Not expected", "This is not the sign-in that Ferrule began."
        if self._came.is_set():
            return "410 Gone", "Done already", "This sign-in was used before."
        self._query = query
        self._came.set()
        return None

    async def _outcome(self) -> _Page:
        with anyio.move_on_after(_OUTCOME_S):
            await self._settled.wait()
        if self._failure or not self._settled.is_set():
            return "400 Bad Request", "Not signed in", "Ferrule tells why, where you began."
        return "200 OK", "Signed in", "You may close this window and go back to Ferrule."


@asynccontextmanager
async def listening(redirect_uri: str) -> AsyncGenerator[Callback]:
    """Listen inside the block; a browser that is being answered is answered to the end.

    Raises:
        SignInError: The port is taken.
    """
    wanted = urlsplit(redirect_uri).port
    port = 80 if wanted is None else wanted
    try:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as error:
        raise SignInError(
            f"cannot listen at port {port} of this machine for the browser: {error.strerror}; "
            "end what uses it, or use `--device-auth`"
        ) from None
    failure: FerruleError | None = None
    async with listener, anyio.create_task_group() as group:
        bound = int(listener.extra(SocketAttribute.local_port))  # noqa: S610 -- not Django's
        callback = Callback(redirect_uri, bound)
        group.start_soon(listener.serve, callback.serve)
        try:
            yield callback
        except FerruleError as error:  # the task group would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _read_head(stream: SocketStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _LARGEST:
        data += await stream.receive()
    return data.partition(b"\r\n\r\n")[0]


def _response(status: str, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\ncache-control: no-store\r\n"
        "referrer-policy: no-referrer\r\nx-frame-options: DENY\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
    )
    return head.encode() + body
