"""What can go wrong with a request, as errors that say whether trying again may help.

The wording is that of the recorded format where clients may know it; where that names a product or
hides the cause, it is our own, and the server's words are kept in `details`.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ferrule_hookspecs.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRANSPORT_CUT: Final = "Transport error: network error: error decoding response body"
NOT_COMPLETED: Final = "stream closed before response.completed"
IDLE: Final = "idle timeout waiting for SSE"

_HIGH_DEMAND: Final = "We’re currently experiencing high demand, which may cause temporary errors."
_CONTEXT_FULL: Final = (
    "The conversation no longer fits into the model's context window. "
    "Start a new thread or clear earlier history before retrying."
)
_QUOTA: Final = "Quota exceeded. Check your plan and billing details."
_OVERLOADED: Final = "Selected model is at capacity. Please try a different model."
_RETRY_HINT: Final = re.compile(
    r"try again in\s*(\d+(?:\.\d+)?)\s*(ms|s|seconds?|m|minutes?)\b", re.I
)
_LONGEST_BODY: Final = 2_000


class HttpFailure(NamedTuple):
    """An answer that is not a stream.

    Attributes:
        status: The HTTP status.
        body: The text of the answer.
        url: Where it came from, without anything secret.
        retry_after_s: The `retry-after` header.
    """

    status: int
    body: str
    url: str
    retry_after_s: float | None = None


def disconnected(cause: str) -> ProviderError:
    """Report that a stream ended before its time."""
    return ProviderError(
        f"stream disconnected before completion: {cause}",
        retryable=True,
        kind="responseStreamDisconnected",
    )


def incomplete_response(reason: str) -> ProviderError:
    """Report that the model stopped in the middle."""
    return ProviderError(f"Incomplete response returned, reason: {reason}")


def response_failure(error: Mapping[str, object]) -> ProviderError:
    """Translate the error of a `response.failed` event."""
    code = str(error.get("code") or error.get("type") or "")
    message = str(error.get("message") or code or "the server gave no reason")
    if code == "rate_limit_exceeded":
        return ProviderError(
            f"rate limit exceeded: {message}",
            retryable=True,
            retry_after_s=_wait_named_in(message),
            kind="rateLimitExceeded",
        )
    translate = _FATAL_CODES.get(code)
    return translate(message) if translate else disconnected(message)


def http_failure(failure: HttpFailure) -> ProviderError:
    """Translate an answer that is not a stream."""
    error = _error_table(failure.body)
    code = str(error.get("code") or error.get("type") or "")
    kind = str(error.get("type") or "")
    said = str(error.get("message") or failure.body[:_LONGEST_BODY]).strip()
    if "usage_limit_reached" in (code, kind):
        return _usage_limit(error)
    translate = _FATAL_CODES.get(code) or _FATAL_CODES.get(kind)
    if translate and failure.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return translate(said)
    if failure.status == HTTPStatus.TOO_MANY_REQUESTS:
        return _too_many_requests(failure, said)
    if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _server_error(failure, said, has_json=bool(error))
    if failure.status == HTTPStatus.BAD_REQUEST:
        return ProviderError(
            said or _unexpected(failure, said), kind="badRequest", status=400, details=failure.body
        )
    return ProviderError(
        _unexpected(failure, said),
        kind="unauthorized"
        if failure.status == HTTPStatus.UNAUTHORIZED
        else "httpConnectionFailed",
        status=failure.status,
    )


def _server_error(failure: HttpFailure, said: str, *, has_json: bool) -> ProviderError:
    is_plain = has_json and failure.status in (
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.SERVICE_UNAVAILABLE,
    )
    return ProviderError(
        _HIGH_DEMAND if is_plain else _unexpected(failure, said),
        retryable=True,
        retry_after_s=failure.retry_after_s,
        kind="internalServerError",
        status=failure.status,
        details=said or None,
    )


def _too_many_requests(failure: HttpFailure, said: str) -> ProviderError:
    wait = failure.retry_after_s
    return ProviderError(
        f"exceeded retry limit, last status: {_status_text(failure.status)}",
        retryable=True,
        retry_after_s=wait if wait is not None else _wait_named_in(said),
        kind="rateLimitExceeded",
        status=failure.status,
        details=said or None,
    )


def _usage_limit(error: Mapping[str, object]) -> ProviderError:
    message = "You’ve hit your usage limit."
    resets_at = error.get("resets_at")
    if isinstance(resets_at, int | float):
        message += f" Try again at {_clock_text(resets_at)}."
    return ProviderError(message, kind="usageLimitExceeded", status=429)


def _clock_text(timestamp: float) -> str:
    moment = datetime.fromtimestamp(timestamp, tz=UTC).astimezone()
    day = moment.day
    suffix = "th" if 10 < day % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    hour = moment.hour % 12 or 12
    return f"{moment:%b} {day}{suffix}, {moment.year} {hour}:{moment:%M %p}"


def _unexpected(failure: HttpFailure, said: str) -> str:
    return f"unexpected status {_status_text(failure.status)}: {said}, url: {failure.url}"


def _status_text(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _error_table(body: str) -> Mapping[str, object]:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    error = cast("dict[str, object]", parsed).get("error") if isinstance(parsed, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return cast("dict[str, object]", error) if isinstance(error, dict) else {}


def _wait_named_in(message: str) -> float | None:
    found = _RETRY_HINT.search(message)
    if found is None:
        return None
    unit = found[2].lower()
    factor = 0.001 if unit == "ms" else 60.0 if unit.startswith("m") else 1.0
    return float(found[1]) * factor


def _fatal(kind: str, text: str | None = None) -> Callable[[str], ProviderError]:
    def translate(message: str) -> ProviderError:
        return ProviderError(text or message, kind=kind, details=message if text else None)

    return translate


def _not_included(message: str) -> ProviderError:
    return ProviderError(
        f"The account's plan does not include this model: {message}", kind="usageLimitExceeded"
    )


_FATAL_CODES: Final[dict[str, Callable[[str], ProviderError]]] = {
    "context_length_exceeded": _fatal("contextWindowExceeded", _CONTEXT_FULL),
    "insufficient_quota": _fatal("usageLimitExceeded", _QUOTA),
    "usage_not_included": _not_included,
    "server_is_overloaded": _fatal("serverOverloaded", _OVERLOADED),
    "slow_down": _fatal("serverOverloaded", _OVERLOADED),
    "invalid_prompt": _fatal("badRequest"),
    "cyber_policy": _fatal("cyberPolicy"),
}
