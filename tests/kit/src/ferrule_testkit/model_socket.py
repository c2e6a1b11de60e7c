"""The WebSocket side of the scripted model: one connection, and what the server remembers of it.

It speaks what the Responses API speaks there: a `response.create` per request, the events of the
HTTP stream as messages back, `previous_response_id` for the last response of this connection only.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from ferrule_testkit.model_script import RESPONSES, Item, Step, Turn

_PIECE: Final = 256 * 1024
_UNKNOWN_RESPONSE: Final = {
    "type": "error",
    "status": 400,
    "error": {
        "type": "invalid_request_error",
        "code": "previous_response_not_found",
        "message": "Previous response not found.",
        "param": "previous_response_id",
    },
}
_DEFAULT_ERROR: Final = {"message": "scripted error", "type": "error", "code": None}


@dataclass(frozen=True)
class SocketDesk:
    """What a connection needs of its server.

    Attributes:
        next_turn: Takes the next turn for a request, given as JSON with its whole input.
        record: Takes note of a message and the whole input it stands for; returns its number.
        closing: Set when the server closes.
    """

    next_turn: Callable[[str], Turn]
    record: Callable[[bytes, list[Item]], int]
    closing: threading.Event


@dataclass
class _Memory:
    response_id: str = ""
    items: list[Item] = field(default_factory=list[Item])


class ModelSocket:
    """Serves one connection, from the upgrade to its end."""

    def __init__(self, connection: socket.socket, desk: SocketDesk) -> None:
        """Take over a connection on which the upgrade was asked for."""
        self._connection = connection
        self._desk = desk
        self._memory = _Memory()
        self._protocol = ServerProtocol(max_size=None)
        self._message = bytearray()

    def serve(self, upgrade: bytes) -> None:
        """Accept the upgrade, and answer requests until either side hangs up."""
        self._protocol.receive_data(upgrade)
        request = cast("Request", self._protocol.events_received()[0])
        self._protocol.send_response(self._protocol.accept(request))
        self._flush()
        while (message := self._next_message()) is not None:
            if not self._answer(message):
                return

    def _next_message(self) -> bytes | None:
        """Await a message; None at the end of the connection."""
        while self._protocol.state is State.OPEN:
            for event in self._protocol.events_received():
                frame = cast("Frame", event)
                if frame.opcode in (Opcode.TEXT, Opcode.CONT):
                    self._message += frame.data
                    if frame.fin:
                        message = bytes(self._message)
                        self._message.clear()
                        return message
            data = self._connection.recv(_PIECE)
            if not data:
                return None
            self._protocol.receive_data(data)
            self._flush()
        return None

    def _answer(self, message: bytes) -> bool:
        """Answer a request; tells whether the connection goes on."""
        request = json.loads(message)
        given: list[Item] = request["input"]
        previous = request.get("previous_response_id")
        is_known = previous is None or (previous == self._memory.response_id and bool(given))
        whole = [*self._memory.items, *given] if previous is not None and is_known else given
        number = self._desk.record(message, whole)
        self._memory = _Memory()  # of one response only, and of none after a failure
        if not is_known:
            self._send(_UNKNOWN_RESPONSE)
            return True
        if request.get("generate") is False:
            turn: Turn = {"items": [], "usage": {"output_tokens": 0}}
        else:
            turn = self._desk.next_turn(json.dumps({**request, "input": whole}))
        return self._play(turn, number, whole)

    def _play(self, turn: Turn, number: int, whole: list[Item]) -> bool:
        if self._desk.closing.wait(turn.get("delay", 0)) or turn.get("drop"):
            return False
        if "close" in turn:
            self._protocol.send_close(turn["close"])
            self._flush()
            return False
        if "status" in turn:
            self._send(_error(turn))
            return True
        for sent, step in enumerate(_steps(turn, number)):
            if sent == turn.get("cut_after"):
                return False
            if isinstance(step, float | int):
                self._desk.closing.wait(step)
                continue
            self._send(step)
            self._remember(step, whole)
        return not turn.get("no_completed")

    def _remember(self, event: dict[str, Any] | str, whole: list[Item]) -> None:
        if isinstance(event, str):
            return
        if event["type"] == "response.output_item.done":
            self._memory.items.append(event["item"])
        elif event["type"] == "response.completed":
            self._memory = _Memory(event["response"]["id"], [*whole, *self._memory.items])

    def _send(self, event: dict[str, Any] | str) -> None:
        text = event if isinstance(event, str) else json.dumps(event)
        self._protocol.send_text(text.encode())
        self._flush()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._connection.sendall(data)


def _steps(turn: Turn, number: int) -> list[Step]:
    """Spell a turn out beforehand, so that a long one goes out as fast as it can."""
    return list(RESPONSES.steps(turn, number))


def _error(turn: Turn) -> dict[str, Any]:
    body = turn.get("body")
    error = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    return {"type": "error", "status": turn.get("status"), "error": error or _DEFAULT_ERROR}
