"""The desk: speaks the server's protocol for people who chat.

A transport usually hands over bytes and understands none of them. People who chat speak no
JSON-RPC, so this one is their client: a conversation of theirs is a thread, a message starts a turn
or joins the one that runs, and a question of the server is a message with buttons.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import anyio

from ferrule_hookspecs.serving import Connection, RpcError

_HELLO: Final = {"clientInfo": {"name": "gallery-webhook", "version": "1.0.0"}}
_CONVERSATIONS: Final = 1000
_LONGEST: Final = 3000
_UNKNOWN: Final = {"code": -32601, "message": "nobody can answer this by a button"}
_APPROVALS: Final = ("item/commandExecution/requestApproval", "item/fileChange/requestApproval")
_DECISIONS: Final = {"accept": "Approve", "decline": "Refuse"}

Post = Callable[[str, Mapping[str, object]], Awaitable[None]]


class Question(NamedTuple):
    """A question of the server that waits for a button."""

    number: int
    conversation: str


class Desk:
    """One client of the server, for all conversations."""

    def __init__(self, connection: Connection, post: Post) -> None:
        self._connection = connection
        self._post = post
        self._numbers = count(1)
        self._sending = anyio.Lock()  # calls of `receive` must not overlap
        self._opening = anyio.Lock()  # one thread for each conversation, whoever is first
        self._replies: dict[int, tuple[anyio.Event, dict[str, Any]]] = {}
        self._threads: dict[str, str] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._said: dict[str, str] = {}
        self._changes: dict[str, str] = {}
        self._questions: dict[str, Question] = {}

    async def hello(self) -> None:
        """Say who we are."""
        await self._call("initialize", _HELLO)

    async def say(self, conversation: str, text: str, response_url: str) -> None:
        """Pass on what somebody said; the answer is posted when there is one."""
        async with self._opening:
            thread = self._threads.get(conversation) or await self._opened(conversation)
        self._places[thread] = (conversation, response_url)
        words = [{"type": "text", "text": text}]
        await self._call("turn/start", {"threadId": thread, "input": words})

    async def _opened(self, conversation: str) -> str:
        opened = await self._call("thread/start", {})
        thread = self._threads[conversation] = str(opened["thread"]["id"])
        if len(self._threads) > _CONVERSATIONS:  # the oldest begins anew when it goes on
            self._places.pop(self._threads.pop(next(iter(self._threads))), None)
        return thread

    async def decide(self, conversation: str, question: str, decision: str) -> bool:
        """Answer a question, once, from where it was asked; False where there is none."""
        waiting = self._questions.get(question)
        if waiting is None or waiting.conversation != conversation or decision not in _DECISIONS:
            return False
        del self._questions[question]
        await self._send({"id": waiting.number, "result": {"decision": decision}})
        return True

    async def listen(self) -> None:
        """Take what the server says until it lets us go."""
        async for raw in self._connection.messages():
            message = json.loads(raw)
            if "method" not in message:
                done, place = self._replies.pop(message["id"])
                place.update(message)
                done.set()
            elif "id" in message:
                await self._ask(message["id"], message["method"], message["params"])
            else:
                await self._hear(message["method"], message.get("params") or {})

    async def _ask(self, number: int, method: str, params: Mapping[str, Any]) -> None:
        place = self._places.get(str(params.get("threadId")))
        if place is None or method not in _APPROVALS:
            await self._send({"id": number, "error": _UNKNOWN})
            return
        conversation, url = place
        name = secrets.token_urlsafe(16)
        self._questions[name] = Question(number, conversation)
        subject = params.get("command") or self._changes.get(params["itemId"]) or dict(params)
        actions = [
            {"label": label, "question": name, "decision": decision}
            for decision, label in _DECISIONS.items()
        ]
        text = f"May this be done? {params.get('reason') or ''}\n{_shown(subject)}"
        await self._post(url, {"conversation": conversation, "text": text, "actions": actions})

    async def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        thread, item = str(params.get("threadId")), params.get("item") or {}
        if method == "item/completed" and item["type"] == "agentMessage":
            self._said[thread] = item["text"]
        elif method == "item/started" and item["type"] == "fileChange":
            changes = item["changes"]
            self._changes[item["id"]] = "\n".join(f"{c['path']}\n{c['diff']}" for c in changes)
        elif method == "item/completed":
            self._changes.pop(item["id"], None)
        elif method == "serverRequest/resolved":  # somebody else answered, or nobody has to
            gone = params.get("requestId")
            left = {name: each for name, each in self._questions.items() if each.number != gone}
            self._questions = left
        elif method == "turn/completed" and thread in self._places:
            conversation, url = self._places[thread]
            turn = params["turn"]
            fault = (turn.get("error") or {}).get("message")
            text = self._said.pop(thread, "") or fault or turn["status"]
            answer = {"conversation": conversation, "text": text, "status": turn["status"]}
            await self._post(url, answer)

    async def _call(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        number, done = next(self._numbers), anyio.Event()
        reply: dict[str, Any] = {}
        self._replies[number] = (done, reply)
        await self._send({"id": number, "method": method, "params": params})
        await done.wait()
        if "error" in reply:
            raise RpcError(str(reply["error"]["message"]))
        return reply["result"]

    async def _send(self, message: Mapping[str, object]) -> None:
        async with self._sending:
            await self._connection.receive(json.dumps(message).encode())


def _shown(subject: object) -> str:
    """Write what is to be approved; what is left out is said, so that nobody approves it unseen."""
    text = subject if isinstance(subject, str) else json.dumps(subject)
    rest = len(text) - _LONGEST
    return text if rest <= 0 else f"{text[:_LONGEST]}\n… and {rest} characters that are not shown"
