"""The address of this machine that a browser comes back to after a person agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketAttribute

from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from types import TracebackType

    from anyio.abc import SocketStream
    from mcp.shared.auth import AuthorizationCodeResult

_PATIENCE_S: Final = 600
_READ_S: Final = 10
_HEAD_LIMIT: Final = 16 * 1024
_PAGE: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Cache-Control: no-store\r\n\r\nYou may close this page and go back to Ferrule.\n"
)
_NOT_HERE: Final = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Callback:
    """Listens on 127.0.0.1 for one answer, for ten minutes at most."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._found: dict[str, str] = {}
        self._has_answer = anyio.Event()

    async def __aenter__(self) -> Callback:
        """Begin to listen."""
        try:
            self._listener = await anyio.create_tcp_listener(
                local_host="127.0.0.1", local_port=self._port
            )
        except OSError as error:
            raise FerruleError(
                f"port {self._port} of this machine cannot be used ({error.strerror}); "
                "`mcp_oauth_callback_port` names another one"
            ) from None
        port = SocketAttribute.local_port
        self._port = self._listener.extra(port)  # noqa: S610 -- of a socket, not of a query
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self._listener.serve, self._serve)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Listen no more."""
        self._group.cancel_scope.cancel()
        # The group has nothing to say about what ended the block, which goes on bare.
        await self._group.__aexit__(None, None, None)
        await self._listener.aclose()

    @property
    def url(self) -> str:
        """Where the browser comes back to."""
        return f"http://127.0.0.1:{self._port}/callback"

    async def answer(self) -> AuthorizationCodeResult:
        """Await what the issuer says; the SDK compares its state.

        Raises:
            FerruleError: Nobody agreed, or nobody answered.
        """
        from mcp.shared.auth import AuthorizationCodeResult

        with anyio.move_on_after(_PATIENCE_S):
            await self._has_answer.wait()
        if "code" not in self._found:
            said = self._found.get("error_description") or self._found.get("error")
            raise FerruleError(f"nobody agreed: {said or 'there was no answer'}")
        given = {key: self._found[key] for key in ("code", "state", "iss") if key in self._found}
        return AuthorizationCodeResult.model_validate(given)

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            head = b""
            with anyio.move_on_after(_READ_S):
                while b"\r\n\r\n" not in head and len(head) < _HEAD_LIMIT:
                    try:
                        head += await stream.receive()
                    except anyio.EndOfStream:
                        break
            words = head.split(b"\r\n", 1)[0].split(b" ")
            parts = urlsplit(words[1].decode("ascii", "replace")) if len(words) > 1 else None
            if parts is None or words[0] != b"GET" or parts.path != "/callback":
                await stream.send(_NOT_HERE)
                return
            await stream.send(_PAGE)
            if not self._has_answer.is_set():
                self._found = {key: values[0] for key, values in parse_qs(parts.query).items()}
                self._has_answer.set()
