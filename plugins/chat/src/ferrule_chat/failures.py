"""What goes wrong, in words that name the mend; vendors word the same mishap in many ways."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit

from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.failures import HttpFailure, disconnected, http_failure, response_failure
from ferrule_wire.overflow import overflow, says_overflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_chat.quirks import Quirks
    from ferrule_wire.settings import ProviderSettings

_LONGEST_WORDS: Final = 2_000
_TOOLS_REFUSED: Final = re.compile(
    "|".join(
        (
            r"does not support (?:tools?|functions?|tool[ _]us|tool[ _]call|function[ _]call)",
            r"(?:tools?|functions?|tool[ _]\w+|function[ _]\w+)`? (?:is|are) not (?:\w+ )?supp",
            r"unsupported param(?:eter)?:? *.?tools",  # llama.cpp of old
            r"tools? param requires --jinja",  # llama.cpp started without templates
            r"requires --enable-auto-tool-choice",  # vLLM
            r"no endpoints found that support tool use",  # OpenRouter
        )
    ),
    re.IGNORECASE,
)
_MODEL_MISSING: Final = re.compile(
    r"model_not_found|not a valid model|(?:invalid|unknown|no such) model\b"
    r"|\bmodels?\b.{0,200}?(?:not found|not exist|is not (?:available|loaded))"
    r"|no models? (?:is |are )?loaded",
    re.IGNORECASE | re.DOTALL,
)
_MODEL_STATUSES: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, 422)
_MODEL_IS_MISSING: Final = "the server does not have the model"
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 -- named, not bound


class Complaint(NamedTuple):
    """What a server says about a request it does not serve."""

    message: str
    code: str = ""
    kind: str = ""


def chat_failure(failure: HttpFailure) -> ProviderError:
    """Translate an answer that is not a stream."""
    said = _complaint_in(failure.body)
    words = f"{said.code} {said.kind} {said.message}"
    if failure.status == HTTPStatus.PAYMENT_REQUIRED:
        return ProviderError(said.message, kind="usageLimitExceeded", status=failure.status)
    if failure.status != HTTPStatus.TOO_MANY_REQUESTS and says_overflow(words):
        return overflow(said.message, failure.status)
    if says_tools_refused(words):
        return ProviderError(said.message, kind="badRequest", status=failure.status)
    if failure.status in _MODEL_STATUSES and _MODEL_MISSING.search(words):
        return ProviderError(
            said.message, kind="badRequest", status=failure.status, details=_MODEL_IS_MISSING
        )
    error = {"message": said.message, "code": said.code or None, "type": said.kind or None}
    return http_failure(failure._replace(body=json.dumps({"error": error})))


def stream_failure(chunk: Mapping[str, object]) -> ProviderError:
    """Translate an error that comes inside of a stream."""
    said = _complaint(chunk)
    words = f"{said.code} {said.kind} {said.message}"
    if says_overflow(words):
        return overflow(said.message)
    if says_tools_refused(words):
        return ProviderError(said.message, kind="badRequest", status=400)
    if said.code.isdigit() and 400 <= int(said.code) < 600:  # a status, too late to be one
        body = json.dumps({"error": {"message": said.message, "type": said.kind}})
        return http_failure(HttpFailure(int(said.code), body, "the stream"))
    if not (said.code or said.kind):
        return disconnected(said.message)
    code = said.code or said.kind
    return response_failure({"code": code, "message": said.message})


def says_tools_refused(words: str) -> bool:
    """Whether a server's words mean that the model cannot be given tools."""
    return _TOOLS_REFUSED.search(words) is not None


class Mends:
    """Adds to an error what the user can do about it."""

    def __init__(self, settings: ProviderSettings, quirks: Quirks) -> None:
        """Know the provider the errors come from."""
        self._settings = settings
        self._quirks = quirks

    def mend(self, error: ProviderError, model: str) -> ProviderError:
        """Return the error with its mend; what needs none is returned as it is."""
        words = self._mended(error, model)
        if words is not None:
            error.args = (words,)
        return error

    def _mended(self, error: ProviderError, model: str) -> str | None:
        name = self._settings.name
        if error.kind == "httpConnectionFailed" and error.status is None:
            return self._unreachable(error)
        if error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return f"{name} refused the request: {error}; {self._key_mend()}"
        if error.details == _MODEL_IS_MISSING:
            mend = self._quirks.mend_model.format(model=model)
            mends = ", or ".join(filter(None, (mend, "choose another with `-m MODEL`")))
            return f"{name} has no model {model!r} ({error}); {mends}"
        if error.status == HTTPStatus.NOT_FOUND:
            return f"{error}; check the provider's `base_url`, which usually ends in /v1"
        return None

    def _unreachable(self, error: ProviderError) -> str | None:
        url = self._settings.base_url
        is_local = urlsplit(url).hostname in _LOCAL_HOSTS
        mend = self._quirks.mend_unreachable or ("start the server" if is_local else "")
        if not mend or "connection refused" not in str(error):
            return None
        if is_local:
            error.retryable = False  # it does not start by waiting
        name = self._settings.name
        return (
            f"{name} does not answer at {url}: connection refused; {mend}, "
            "or set the provider's `base_url`"
        )

    def _key_mend(self) -> str:
        if self._settings.env_key:
            return f"check the key in `{self._settings.env_key}`"
        if self._settings.bearer_token or self._settings.token_command:
            return "check the key that is configured for the provider"
        return "name the variable that holds your key with the provider's `env_key`"


def _complaint_in(body: str) -> Complaint:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Complaint(body[:_LONGEST_WORDS].strip())
    if isinstance(value, list) and value:  # Gemini
        value = cast("list[object]", value)[0]
    if isinstance(value, dict):
        return _complaint(cast("Mapping[str, object]", value))
    return Complaint(body[:_LONGEST_WORDS].strip())


def _complaint(table: Mapping[str, object]) -> Complaint:
    """Read an error: under `error` with OpenAI, at the top with Mistral, as `detail` elsewhere."""
    error = table.get("error")
    if isinstance(error, str) and error:
        return Complaint(error, str(table.get("code") or ""))
    found = cast("Mapping[str, object]", error) if isinstance(error, dict) else table
    message = found.get("message") or found.get("detail") or json.dumps(dict(table))
    if not isinstance(message, str):
        message = json.dumps(message)
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and (raw := cast("Mapping[str, object]", metadata).get("raw")):
        message = f"{message}: {raw}"  # OpenRouter passes on what the model's server said
    code, kind = found.get("code"), found.get("type")
    return Complaint(message[:_LONGEST_WORDS].strip(), str(code or ""), str(kind or ""))
