"""An open thread: the only reader of its session's events, which it passes on to clients.

Everything a client is told about a thread goes through `_pass_on`, one event at a time, so that a
client that joins in between gets a snapshot and then exactly what follows it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, cast

import anyio

from ferrule_app_server import wire_names
from ferrule_app_server.connection import notification
from ferrule_app_server.epilogue import after_reply
from ferrule_app_server.timeline import Timeline
from ferrule_hookspecs.errors import FerruleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ferrule_app_server.connection import ClientConnection
    from ferrule_app_server.server import AppServer
    from ferrule_hookspecs.host import Session
    from ferrule_hookspecs.ops import Op
    from ferrule_hookspecs.store import ThreadSummary
    from ferrule_hookspecs.threads import Thread, ThreadStatus, Turn

_LEAD_S: Final = 0.01
"""How long a reply goes ahead of what it announces: some clients only listen once they read it."""
_STUCK_S: Final = 30.0
"""A client that takes nothing for so long, while others wait, is dropped."""
_FOR_ALL: Final = frozenset({"thread/status/changed", "thread/name/updated", "thread/closed"})
"""What every client hears, whether it follows the thread or not."""


class LiveThread:
    """One open thread of an `AppServer`."""

    def __init__(self, server: AppServer, session: Session, *, stored_turns: int) -> None:
        self.server = server
        self.session = session
        self.id = session.thread["id"]
        self.status: ThreadStatus = {"type": "idle"}
        self.usage: Mapping[str, object] | None = None
        self.closed = anyio.Event()
        self.timeline = Timeline(stored_turns, is_ephemeral=session.thread["ephemeral"])
        self._followers: set[ClientConnection] = set()
        self._left_at = time.monotonic()
        self._announcing = 0
        self._announced = anyio.Event()
        self.is_closing = False
        self._is_put_away = False

    @property
    def is_active(self) -> bool:
        """Whether a turn runs."""
        return self.status["type"] == "active"

    @property
    def lonely_s(self) -> float:
        """How long nobody has followed the thread, in seconds; 0 while anybody does."""
        return 0.0 if self._followers else time.monotonic() - self._left_at

    @property
    def depth(self) -> int:
        """How many open threads are above it."""
        parent = self.server.threads.get(str(self.session.thread.get("parentThreadId")))
        return 0 if parent is None else parent.depth + 1

    def children(self) -> Iterator[LiveThread]:
        """The open threads that work for it."""
        for other in self.server.threads:
            if other.session.thread.get("parentThreadId") == self.id:
                yield other

    def share(self, child: LiveThread) -> None:
        """Have whoever follows this thread follow one that works for it."""
        for follower in self._followers:
            child.follow(follower)

    def describe(self) -> Thread:
        """The thread as it stands, without turns."""
        thread = self.session.thread
        lineage = wire_names.Lineage(
            thread.get("parentThreadId"),
            self.depth,
            thread.get("agentNickname"),
            thread.get("agentRole"),
        )
        return {
            **thread,
            "status": self.status,
            "source": wire_names.source(thread["source"], lineage),
            "turns": [],
            "recencyAt": thread["updatedAt"],
            "canAcceptDirectInput": True,
        }

    def turns(self) -> list[Turn]:
        """All turns that clients were told of, the running one included."""
        if self.session.thread["ephemeral"]:
            return self.timeline.turns(())
        return self.timeline.turns(self.server.stored_turns(self.id))

    def follow(self, connection: ClientConnection) -> None:
        """Tell a client from now on, unless it is gone meanwhile."""
        if not connection.is_gone:
            self._followers.add(connection)
            for child in self.children():
                child.follow(connection)

    def leave(self, connection: ClientConnection) -> bool:
        """Tell a client no more; returns whether it was told before."""
        if connection not in self._followers:
            return False
        self._followers.discard(connection)
        self._left_at = time.monotonic()
        for question in self.server.questions.of(self):
            question.forget(connection)
        for child in self.children():
            child.leave(connection)
        return True

    def describe_as(self, stored: ThreadSummary) -> None:
        """Take over what is stored of a thread that goes on."""
        thread = self.session.thread
        thread["preview"] = thread["preview"] or stored.preview
        thread["name"] = thread.get("name") or stored.name
        thread["createdAt"] = stored.created_at

    def catch_up(self, connection: ClientConnection, usage: Mapping[str, object] | None) -> None:
        """Tell a client that joined what was used before, and ask it what is still open."""
        if connection not in self._followers:
            return
        if usage is not None:
            connection.notify("thread/tokenUsage/updated", usage)
        for question in self.server.questions.of(self):
            question.put_to(connection)
        for child in self.children():
            child.catch_up(connection, child.usage)

    def answer(self, number: int, result: Mapping[str, object]) -> None:
        """Pass on a client's answer to a question of the session."""
        op: Op = {
            "id": "",
            "method": "serverRequest/answer",
            "params": {"threadId": self.id, "requestId": number, "result": dict(result)},
        }
        self.server.start(self._submit, op)

    async def perform_turn(self, op: Op) -> str:
        """Perform an operation that begins a turn, and have its events wait for the reply."""
        self.begin_after_reply()
        return (await self.session.perform(op)).get("turnId", "")

    def begin_after_reply(self) -> None:
        """Pass nothing on before the reply to the request at hand is out."""
        self._announcing += 1
        after_reply(self._reply_is_out)

    async def close(self, *, is_put_away: bool = False) -> None:
        """Close the session and wait until clients were told all of it.

        Args:
            is_put_away: Clients are told that the thread is archived or deleted, not just closed.
        """
        self.is_closing = True
        self._is_put_away = is_put_away
        await self.session.close()
        await self.closed.wait()

    async def run(self) -> None:
        """Pass on what the session tells until it is closed."""
        try:
            await self._let_reply_ahead()
            async for event in self.session.events():
                method, params = event["method"], cast("dict[str, Any]", event["params"])
                try:
                    if "id" in event:
                        self._ask(cast("int", event["id"]), method, params)
                    else:
                        await self._take(method, params)
                except Exception as error:  # noqa: BLE001 -- one event must not end them all
                    self.server.report_fault(method, error)
                for follower in list(self._followers):
                    if follower.outbox.is_full:
                        await self._wait_for(follower)
        finally:
            self.server.questions.drop(self)
            self.closed.set()
            self.server.closed(self)

    def tell(self, method: str, params: Mapping[str, object]) -> None:
        """Tell whoever follows the thread."""
        message = notification(method, params)
        for follower in self._followers:
            if follower.takes(method):
                follower.outbox.put(message)

    async def _take(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "thread/started":
                pass  # told by whoever opened the thread, behind the reply
            case "thread/status/changed":
                await self._take_status(params["status"])
            case "serverRequest/resolved":
                question = self.server.questions.settle(self, params["requestId"])
                if question is not None and question.tells_end:
                    self._pass_on(method, {**params, "requestId": question.id})
            case "thread/closed":
                if not self._is_put_away:
                    self._pass_on(method, params)
                await self._take_status({"type": "notLoaded"})
            case "thread/settings/updated":
                told = wire_names.settings(params["threadSettings"])
                self._pass_on(method, {**params, "threadSettings": told})
            case _:
                self._learn(method, params)
                self._pass_on(method, params)

    def _learn(self, method: str, params: dict[str, Any]) -> None:
        """Keep what later replies tell of the thread."""
        thread = self.session.thread
        if method == "thread/name/updated":
            thread["name"] = params["threadName"]
        elif method == "thread/tokenUsage/updated":
            self.usage = params
        elif method == "item/started" and not thread["preview"]:
            thread["preview"] = _text(params["item"])
        elif method == "turn/completed":
            thread["updatedAt"] = int(time.time())

    async def _take_status(self, status: ThreadStatus) -> None:
        if status == self.status:
            return
        if status["type"] == "active" and not self.is_active:
            await self._let_reply_ahead()
        self.status = status
        self._pass_on("thread/status/changed", {"threadId": self.id, "status": status})

    def _pass_on(self, method: str, params: dict[str, Any]) -> None:
        self.timeline.take(method, params)
        if method in _FOR_ALL:
            self.server.tell_all(method, params, self._followers)
        else:
            self.tell(method, params)

    def _ask(self, number: int, method: str, params: dict[str, Any]) -> None:
        question = self.server.questions.open(self, number, method, params)
        for follower in self._followers:
            question.put_to(follower)

    async def _let_reply_ahead(self) -> None:
        """Wait until the reply that names the new turn was handed over, and a moment longer."""
        waited = self._announcing > 0
        while self._announcing:
            self._announced = anyio.Event()
            await self._announced.wait()
        if waited:
            await anyio.sleep(_LEAD_S)

    def _reply_is_out(self) -> None:
        self._announcing -= 1
        self._announced.set()

    async def _wait_for(self, follower: ClientConnection) -> None:
        """Wait for a slow reader; one that others would wait for in vain is dropped."""
        if len(self._followers) == 1:
            await follower.outbox.room()
            return
        taken = follower.outbox.taken
        with anyio.move_on_after(_STUCK_S) as scope:
            await follower.outbox.room()
        if scope.cancelled_caught and follower.outbox.taken == taken:
            self.server.report(f"a client over {follower.peer.transport} reads nothing; dropped")
            follower.outbox.abandon()
            self.leave(follower)

    async def _submit(self, op: Op) -> None:
        try:
            await self.session.submit(op)
        except FerruleError as error:
            self.server.report(str(error))


def _text(item: Mapping[str, Any]) -> str:
    """Return the text of a user's message; nothing of other items."""
    if item["type"] != "userMessage":
        return ""
    return "\n".join(part["text"] for part in item["content"] if part["type"] == "text")


def thread_params(thread: Thread, turns: Sequence[Turn] = ()) -> dict[str, object]:
    """Return a thread with turns, as replies and `thread/started` carry it."""
    return {"thread": {**thread, "turns": list(turns)}}
