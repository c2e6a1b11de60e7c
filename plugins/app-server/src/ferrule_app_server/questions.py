"""Questions of all sessions to their clients, numbered through for the whole server.

Only who was asked may answer; the first answer counts, and the others hear that it is settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ferrule_app_server.connection import ClientConnection
    from ferrule_app_server.envelope import Message, Response
    from ferrule_app_server.live_thread import LiveThread

_UNSETTLED: Final = frozenset({"item/tool/call"})
"""Questions whose end nobody is told: the item says it."""


class Question:
    """A question of one session.

    Attributes:
        id: Its number on the wire.
        number: Its number in the session.
        thread: The session's thread.
        method: What is asked.
        params: What it is about.
    """

    def __init__(
        self, id_: int, number: int, thread: LiveThread, method: str, params: object
    ) -> None:
        self.id = id_
        self.number = number
        self.thread = thread
        self.method = method
        self.params = params
        self._asked: set[ClientConnection] = set()
        self._is_answered = False

    @property
    def tells_end(self) -> bool:
        """Whether clients are told that it needs no answer any more."""
        return self.method not in _UNSETTLED

    def put_to(self, connection: ClientConnection) -> None:
        """Ask a client, unless it was asked already."""
        if connection in self._asked or connection.greeting is None:
            return
        self._asked.add(connection)
        request: Message = {"method": self.method, "id": self.id, "params": self.params}
        connection.outbox.put(request)

    def accepts(self, connection: ClientConnection) -> bool:
        """Whether an answer of this client counts; one does."""
        if self._is_answered or connection not in self._asked:
            return False
        self._is_answered = True
        return True

    def forget(self, connection: ClientConnection) -> None:
        """A client is gone."""
        self._asked.discard(connection)


class Questions:
    """The open questions of a server."""

    def __init__(self) -> None:
        self._next = 0
        self._open: dict[int, Question] = {}

    def open(self, thread: LiveThread, number: int, method: str, params: object) -> Question:
        """Number a question."""
        question = Question(self._next, number, thread, method, params)
        self._next += 1
        self._open[question.id] = question
        return question

    def settle(self, thread: LiveThread, number: int) -> Question | None:
        """Take away a question that needs no answer any more."""
        for question in self.of(thread):
            if question.number == number:
                return self._open.pop(question.id)
        return None

    def of(self, thread: LiveThread) -> Iterator[Question]:
        """Yield the open questions of a thread, oldest first."""
        yield from [question for question in self._open.values() if question.thread is thread]

    def answer(self, connection: ClientConnection, response: Response) -> None:
        """Pass on the answer of a client; whatever nobody waits for is left alone."""
        question = self._open.get(response.id) if isinstance(response.id, int) else None
        if question is None or not question.accepts(connection):
            return
        result = response.result if isinstance(response.result, dict) else {}
        if response.error is not None:
            result = {"error": response.error}
        question.thread.answer(question.number, cast("Mapping[str, object]", result))

    def forget(self, connection: ClientConnection) -> None:
        """A client is gone; what it was asked stays open."""
        for question in self._open.values():
            question.forget(connection)

    def drop(self, thread: LiveThread) -> None:
        """A thread is closed."""
        for question in self.of(thread):
            del self._open[question.id]
