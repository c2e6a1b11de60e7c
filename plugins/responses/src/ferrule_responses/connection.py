"""One WebSocket connection, which carries a text message each way at a time.

The only module that imports `websockets` (0.1 s): who does not ask for it does not pay for it.
"""

from __future__ import annotations

import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State

from ferrule_responses.setback import SetbackError
from ferrule_wire.channel import first_cause, plain_cause
from ferrule_wire.direct import trusting_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from websockets.asyncio.client import ClientConnection

    from ferrule_wire.channel import Target

_CLOSING_S: Final = 0.05
_LOOP_PASSES: Final = 3  # to read the end of a stream, to close its transport, to take note
_MESSAGE_TOO_BIG: Final = 1009
_IDLE: Final = "idle timeout waiting for a message"


class Connection:
    """A connection that is open until either side ends it."""

    def __init__(self, socket: ClientConnection, idle_timeout_s: float) -> None:
        """Take over what `open_connection` has opened."""
        self._socket = socket
        self._idle_timeout_s = idle_timeout_s

    async def is_open(self) -> bool:
        """Whether neither side has ended it, as far as can be known."""
        for _ in range(_LOOP_PASSES):  # what has arrived by now is taken in first
            await checkpoint()
        return self._socket.state is State.OPEN

    async def send(self, message: bytes) -> None:
        """Send UTF-8 text.

        Raises:
            SetbackError: The connection is lost.
        """
        try:
            with anyio.fail_after(self._idle_timeout_s):
                await self._socket.send(message, text=True)
        except TimeoutError:
            raise SetbackError("the request could not be sent in time") from None
        except ConnectionClosed as error:
            raise _lost(error) from error

    async def receive(self) -> str | bytes:
        """Await the next message.

        Raises:
            SetbackError: The connection is lost, or was silent for too long.
        """
        try:
            with anyio.fail_after(self._idle_timeout_s):
                return await self._socket.recv()
        except TimeoutError:
            raise SetbackError(_IDLE) from None
        except ConnectionClosed as error:
            raise _lost(error) from error

    def abort(self) -> None:
        """End it at once, without a word to the server."""
        self._socket.transport.abort()

    async def aclose(self) -> None:
        """Say good-bye, but do not wait long for an answer."""
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await self._socket.close()
        self.abort()


async def open_connection(
    target: Target, headers: Mapping[str, str], connect_timeout_s: float
) -> Connection:
    """Connect, over the proxy that the environment names if there is one.

    Raises:
        SetbackError: There is no connection.
    """
    parts = target.parts
    is_secure = parts.scheme == "https"
    url = parts._replace(scheme="wss" if is_secure else "ws").geturl()
    try:
        socket = await _Connect(
            url,
            additional_headers=headers,
            user_agent_header=None,
            open_timeout=connect_timeout_s,
            max_size=None,
            # A reader that is held up must not hold up the answers to the keep-alive pings.
            max_queue=None,
            ssl=trusting_context() if is_secure else None,
        )
    except InvalidStatus as error:
        status = error.response.status_code
        raise _unopened(f"the server answered {_status_text(status)}", status) from error
    except TimeoutError as error:
        raise _unopened(f"no answer within {connect_timeout_s:g} s") from error
    # ImportError: a SOCKS proxy needs a library that is not there. ValueError: a bad proxy or name.
    except (OSError, WebSocketException, ImportError, ValueError) as error:
        refused = first_cause(error, ssl.SSLCertVerificationError)
        cause = plain_cause(error) if refused is None else refused.verify_message
        raise _unopened(cause) from error
    return Connection(socket, target.idle_timeout_s)


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow none: the headers may hold keys, and are for this server only."""
        return exc


def _unopened(reason: str, status: int | None = None) -> SetbackError:
    return SetbackError(reason, is_final=True, was_open=False, status=status)


def _lost(error: ConnectionClosed) -> SetbackError:
    close = error.rcvd or error.sent
    if close is None:
        return SetbackError("it was cut off")
    reason = f"closed with {close.code}" + (f" ({close.reason})" if close.reason else "")
    return SetbackError(reason, is_final=close.code == _MESSAGE_TOO_BIG)


def _status_text(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
