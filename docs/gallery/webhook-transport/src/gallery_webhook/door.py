"""The door: checks the signature of what was posted, then its form, then has the desk do it."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from ferrule_hookspecs import FerruleError
from gallery_webhook.desk import Desk
from gallery_webhook.request import Posted, Reply
from gallery_webhook.signature import Guard, RefusedError


class Door:
    """Takes messages, `{"conversation", "text", "response_url"}`, and answers to questions.

    The latter are `{"conversation", "action"}`, with the action as it stood under a button.
    """

    def __init__(self, desk: Desk, guard: Guard, hosts: Sequence[str]) -> None:
        self._desk = desk
        self._guard = guard
        self._hosts = hosts

    async def take(self, posted: Posted) -> Reply:
        """Answer one request; what the model says comes later, at the response URL."""
        try:
            self._guard.check(posted.headers, posted.body)
        except RefusedError as error:
            return _reply(401, error)
        try:
            message = json.loads(posted.body)
            conversation = _text(message, "conversation")
            if "action" not in message:
                url = self._allowed(_text(message, "response_url"))
                await self._desk.say(conversation, _text(message, "text"), url)
                return Reply(202, b"{}")
            action = message["action"]
            answer = (_text(action, "question"), _text(action, "decision"))
        except (FerruleError, KeyError, TypeError, ValueError) as error:
            return _reply(400, error)
        if await self._desk.decide(conversation, *answer):
            return Reply(200, b"{}")
        return _reply(410, "nobody asks this any more")

    def _allowed(self, url: str) -> str:
        """Return a URL that may be posted to: whoever signs is trusted, the network is not."""
        parts = urlsplit(url)
        if not url.isprintable() or parts.port == 0:  # or it raises, as some ports do
            raise ValueError("response_url is no URL")
        if parts.scheme not in ("http", "https") or parts.hostname not in self._hosts:
            raise ValueError(f"{parts.hostname} is not among response_hosts")
        return url


def _text(message: dict[str, Any], key: str) -> str:
    value = message[key]
    if not isinstance(value, str) or not value:
        raise TypeError(f"{key} must be a text")
    return value


def _reply(status: int, said: object) -> Reply:
    return Reply(status, json.dumps({"error": str(said)}).encode())
