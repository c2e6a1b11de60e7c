"""One HTTP request on one connection; h11 knows the protocol, this moves the bytes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import anyio
import h11
from anyio.abc import ByteStream

LIMIT: Final = 256 * 1024
_PATIENCE_S: Final = 120
_PIECE: Final = 65_536


class Posted(NamedTuple):
    """What was posted: its headers by their small names, and its body."""

    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    """What is answered."""

    status: int
    body: bytes


async def attend(stream: ByteStream, take: Callable[[Posted], Awaitable[Reply]]) -> None:
    """Read one request, have it taken, answer, and hang up; who dawdles is left."""
    wire = h11.Connection(h11.SERVER, max_incomplete_event_size=16_384)
    try:
        with anyio.fail_after(_PATIENCE_S):
            posted = await _read(stream, wire)
        reply = await take(posted)  # however long: what was begun is not left half done
    except TimeoutError:
        return
    except h11.RemoteProtocolError as error:
        reply = Reply(error.error_status_hint, b'{"error": "this is no request"}')
    with anyio.move_on_after(_PATIENCE_S):
        await _write(stream, wire, reply)


async def _read(stream: ByteStream, wire: h11.Connection) -> Posted:
    headers: dict[str, str] = {}
    body = b""
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            try:
                wire.receive_data(await stream.receive(_PIECE))
            except anyio.EndOfStream:
                wire.receive_data(b"")
        elif isinstance(event, h11.Request):
            if event.method != b"POST":
                raise h11.RemoteProtocolError("only POST", error_status_hint=405)
            headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
            if len(body) > LIMIT:
                raise h11.RemoteProtocolError("too long", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage):
            return Posted(headers, body)
        else:
            raise h11.RemoteProtocolError("it ended too soon")


async def _write(stream: ByteStream, wire: h11.Connection, reply: Reply) -> None:
    if wire.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = [("content-type", "application/json"), ("content-length", str(len(reply.body)))]
    head = h11.Response(status_code=reply.status, headers=[*headers, ("connection", "close")])
    pieces = [wire.send(head), wire.send(h11.Data(data=reply.body)), wire.send(h11.EndOfMessage())]
    await stream.send(b"".join(piece or b"" for piece in pieces))
