"""What can go wrong with a message, as errors that say whether trying again may help."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.failures import disconnected, http_failure, incomplete_response, response_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_wire.failures import HttpFailure
    from ferrule_wire.settings import ProviderSettings

_OVERLOADED: Final = 529
_TOO_LONG: Final = re.compile(
    r"(prompt|input) is too long|exceeds? (the )?(maximum |model's )?context"
)
_WRONG_FORM: Final = re.compile(r"thinking\.(type|enabled|adaptive|disabled)|budget_tokens")
_BAD_THINKING: Final = re.compile(r"signature|cannot be modified|must contain thinking")


class FailureTranslator:
    """Puts refused requests in words; knows where the key of its provider comes from."""

    def __init__(self, settings: ProviderSettings) -> None:
        """Take the provider's settings."""
        self._settings = settings

    def __call__(self, failure: HttpFailure) -> ProviderError:
        """Translate an answer that is not a stream."""
        error = _error_table(failure.body)
        kind = str(error.get("type") or "")
        if failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            kind = "request_too_large"
        if not kind:
            return http_failure(failure)  # not the API's own words: a gateway, a proxy
        translated = self._translated(kind, str(error.get("message") or kind), failure)
        translated.status = failure.status
        translated.details = failure.body
        return translated

    def _translated(self, kind: str, said: str, failure: HttpFailure) -> ProviderError:
        wait = failure.retry_after_s
        if kind == "authentication_error":
            return ProviderError(f"{self._key_refused()} ({said})", kind="unauthorized")
        if kind == "not_found_error":
            return ProviderError(
                f"nothing is known there under that name ({said}): check `model` and the"
                f" provider's `base_url`, url: {failure.url}",
                kind="badRequest",
            )
        if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR or kind == "overloaded_error":
            return _server_failure(kind, said, wait, failure.status)
        if kind == "rate_limit_error" or failure.status == HTTPStatus.TOO_MANY_REQUESTS:
            text = f"the rate limit is reached: {said}"
            return _passing(text, "rateLimitExceeded", wait)
        return _refused_request(kind, said)

    def _key_refused(self) -> str:
        settings = self._settings
        if settings.env_key:
            return f"the server refused the key: set `{settings.env_key}` to a valid one"
        if settings.token_command or settings.bearer_token:
            return "the server refused the key: check how the provider's table names it"
        return "the server wants a key: name its variable with `env_key` in the provider's table"


def stream_failure(error: Mapping[str, object]) -> ProviderError:
    """Translate an error event in the middle of a stream."""
    kind = str(error.get("type") or "")
    said = str(error.get("message") or kind or "the server gave no reason")
    if kind == "rate_limit_error":
        return _passing(f"the rate limit is reached: {said}", "rateLimitExceeded")
    if kind == "overloaded_error":
        return _server_failure(kind, said, None, _OVERLOADED)
    if kind in ("invalid_request_error", "request_too_large", "billing_error", "permission_error"):
        return _refused_request(kind, said)
    return disconnected(said)


def stopped_early(reason: str, details: Mapping[str, object]) -> ProviderError | None:
    """Say why a message that ended is no answer; None where it is one."""
    if reason == "max_tokens":
        error = incomplete_response(reason)
        error.args = (f"{error}: raise `settings.max_tokens` of the provider",)
        return error
    if reason == "model_context_window_exceeded":
        return _context_full(reason)
    if reason == "refusal":
        why = details.get("explanation") or details.get("category") or "no reason was given"
        kind = "cyberPolicy" if details.get("category") == "cyber" else "other"
        return ProviderError(f"the model declined to answer: {why}", kind=kind)
    return None


def refuses_thinking(error: ProviderError) -> bool:
    """Whether a request failed because the server cannot read thinking it was sent back.

    Its signature holds for the model, the account and the prompt it was made with.
    """
    said = str(error)
    return (
        error.status == HTTPStatus.BAD_REQUEST
        and "thinking" in said
        and _BAD_THINKING.search(said) is not None
    )


def _refused_request(kind: str, said: str) -> ProviderError:
    if kind == "request_too_large" or _TOO_LONG.search(said):
        return _context_full(said)
    if kind == "billing_error" or "credit balance" in said or "usage limit" in said:
        return ProviderError(f"the account cannot pay for this: {said}", kind="usageLimitExceeded")
    if kind == "permission_error":
        return ProviderError(f"the key may not do this: {said}", kind="unauthorized")
    if _WRONG_FORM.search(said):
        said += "; tell how this model is asked to think with `settings.thinking` of its provider"
    return ProviderError(said, kind="badRequest")


def _server_failure(kind: str, said: str, wait: float | None, status: int) -> ProviderError:
    if kind == "overloaded_error":
        text = f"the model is overloaded at the moment: {said}"
        return _passing(text, "serverOverloaded", wait)
    return _passing(f"the server failed with status {status}: {said}", "internalServerError", wait)


def _passing(text: str, kind: str, wait: float | None = None) -> ProviderError:
    return ProviderError(text, retryable=True, retry_after_s=wait, kind=kind)


def _context_full(said: str) -> ProviderError:
    return response_failure({"code": "context_length_exceeded", "message": said})


def _error_table(body: str) -> Mapping[str, object]:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    error = cast("dict[str, object]", parsed).get("error") if isinstance(parsed, dict) else None
    return cast("dict[str, object]", error) if isinstance(error, dict) else {}
