"""Who sent a message: an HMAC over the time and the body, good for a few minutes, and once."""

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import Final

WINDOW_S: Final = 300
SIGNATURE: Final = "x-signature"
TIMESTAMP: Final = "x-timestamp"


class RefusedError(Exception):
    """A message that is not taken; says why in words that tell a stranger nothing."""


def signed(secret: str, body: bytes, now: float) -> dict[str, str]:
    """Return the headers that sign a body."""
    timestamp = str(int(now))
    return {TIMESTAMP: timestamp, SIGNATURE: _digest(secret, timestamp, body)}


def _digest(secret: str, timestamp: str, body: bytes) -> str:
    whole = f"v1:{timestamp}:".encode() + body
    return f"v1={hmac.new(secret.encode(), whole, hashlib.sha256).hexdigest()}"


class Guard:
    """Lets signed messages through, each once."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock
        self._began = int(clock())
        self._seen: dict[str, float] = {}

    def check(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raise where a message is not from who knows the secret, too old, or here already."""
        timestamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
        # In this order: whoever cannot sign learns nothing of clocks or of earlier messages.
        if not hmac.compare_digest(given.encode(), _digest(self._secret, timestamp, body).encode()):
            raise RefusedError("the signature is wrong")
        now = self._clock()
        if not timestamp.isdecimal() or abs(now - int(timestamp)) > WINDOW_S:
            raise RefusedError("the message is too old, or from the future")
        if int(timestamp) < self._began:  # an earlier server may have taken it; nobody remembers
            raise RefusedError("the message is older than this server")
        # A message may be from a little ahead, so it is remembered for as long as it could pass.
        self._seen = {sign: until for sign, until in self._seen.items() if until >= now}
        if given in self._seen:
            raise RefusedError("the message was here already")
        self._seen[given] = int(timestamp) + WINDOW_S
