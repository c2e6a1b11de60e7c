"""Why a request cannot go on over its WebSocket, and what an error message of a server means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.failures import HttpFailure, http_failure, response_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

# The server's own rules of a connection, not failures of the request.
_LIFECYCLE_CODES: Final = {
    "previous_response_not_found": "the server no longer has the previous response",
    "websocket_connection_limit_reached": "the server ended it after its time limit",
}


class SetbackError(Exception):
    """The connection cannot carry the request; another one, or HTTP, may.

    Attributes:
        is_final: Another WebSocket would fare no better.
        was_open: There was a connection before.
        status: HTTP status of a server that refused the connection.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_final: bool = False,
        was_open: bool = True,
        status: int | None = None,
    ) -> None:
        """Say the reason in a few words."""
        super().__init__(reason)
        self.is_final = is_final
        self.was_open = was_open
        self.status = status

    def told(self, url: str, outlook: str) -> ProviderError:
        """Word it for the user, as an error after which the request is made again."""
        what = "was lost" if self.was_open else "could not be opened"
        return ProviderError(
            f"the WebSocket connection to {url} {what}: {self}; {outlook}",
            retryable=True,
            retry_after_s=None if self.was_open else 0.0,
            kind="responseStreamDisconnected" if self.was_open else "httpConnectionFailed",
            status=self.status,
        )


def error_message(payload: Mapping[str, object], url: str) -> SetbackError | ProviderError:
    """Translate a message of the type `error`: with `status`, it is what HTTP would answer."""
    given = payload.get("error")
    error = cast("Mapping[str, object]", given) if isinstance(given, dict) else payload
    code = str(error.get("code"))
    if code in _LIFECYCLE_CODES:
        return SetbackError(_LIFECYCLE_CODES[code])
    status = payload.get("status")
    if not isinstance(status, int) or isinstance(status, bool):
        return response_failure(error)
    return http_failure(HttpFailure(status, json.dumps({"error": dict(error)}), url))
