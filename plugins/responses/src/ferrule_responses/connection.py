"""The HTTP side: making the client, sending a request with silent retries, naming what failed.

Imported together with httpx, when the first request is near.
"""

from __future__ import annotations

import random
import socket
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from ferrule_hookspecs.errors import ProviderError
from ferrule_responses.failures import IDLE, TRANSPORT_CUT, HttpFailure, disconnected, http_failure

if TYPE_CHECKING:
    import httpx
else:
    # httpx imports its own command line, and with it click and rich (0.1 s), where those happen to
    # be installed. None in sys.modules says "not there", a case that httpx provides for.
    sys.modules.setdefault("httpx._main", None)
    httpx = import_module("httpx")
    if sys.modules["httpx._main"] is None:
        del sys.modules["httpx._main"]

if TYPE_CHECKING:
    from ferrule_responses.settings import ProviderSettings

_E = TypeVar("_E", bound=BaseException)
_FIRST_BACKOFF_S: Final = 0.2
_CONNECT_TIMEOUT_S: Final = 15.0
_LARGEST_ERROR_BODY: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go.

    Attributes:
        provider: The provider's display name.
        url: The URL with its query.
        shown_url: The URL for messages: no query, no user, no password.
    """

    provider: str
    url: httpx.URL
    shown_url: str


def endpoint(settings: ProviderSettings) -> Endpoint:
    """Work out where requests go."""
    text = f"{settings.base_url}/responses"
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise ProviderError(
            f"`base_url` of the model provider {settings.name!r} is no http or https URL: "
            f"{settings.base_url!r}"
        )
    if settings.query_params:
        url = url.copy_merge_params(dict(settings.query_params))
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    return Endpoint(settings.name, url, urlunsplit((parts.scheme, host, parts.path, "", "")))


def make_client(settings: ProviderSettings) -> httpx.AsyncClient:
    """Make the client of one session; it keeps its connection open between requests."""
    # A plain-text connection has no certificate to verify: without a context made for it, the
    # certificates of the system are not read (30 ms). https is always verified.
    is_plain = settings.base_url.lower().startswith("http://")
    return httpx.AsyncClient(
        verify=not is_plain,
        timeout=httpx.Timeout(settings.stream_idle_timeout_s, connect=_CONNECT_TIMEOUT_S),
        limits=httpx.Limits(keepalive_expiry=300.0),
        follow_redirects=False,
    )


class Sender:
    """Sends requests, trying again silently where the server or the line failed for a moment."""

    def __init__(self, client: httpx.AsyncClient, target: Endpoint, max_retries: int) -> None:
        """Send nothing yet."""
        self._client = client
        self._target = target
        self._max_retries = max_retries

    async def open(self, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Send a request; return the answer as soon as a stream begins. The caller closes it.

        Raises:
            ProviderError: There is no stream, in spite of all retries.
        """
        import anyio

        attempt = 0
        while True:
            try:
                return await self._attempt(body, headers)
            except ProviderError as error:
                if attempt >= self._max_retries or not _is_momentary(error):
                    raise
            delay = _FIRST_BACKOFF_S * 2**attempt * random.uniform(0.9, 1.1)  # noqa: S311 -- jitter
            await anyio.sleep(delay)
            attempt += 1

    async def _attempt(self, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        request = self._client.build_request(
            "POST", self._target.url, content=body, headers=dict(headers)
        )
        with transport_failures(self._target):
            response = await self._client.send(request, stream=True)
        if response.status_code == httpx.codes.OK:
            return response
        try:
            with transport_failures():
                text = await _error_text(response)
        except ProviderError:
            text = ""  # the status alone tells enough
        finally:
            await response.aclose()
        raise http_failure(
            HttpFailure(
                status=response.status_code,
                body=text,
                url=self._target.shown_url,
                retry_after_s=_retry_after(response.headers),
            )
        )


@contextmanager
def transport_failures(target: Endpoint | None = None) -> Iterator[None]:
    """Translate what httpx raises; `target` is given as long as no answer has begun."""
    try:
        yield
    except httpx.ConnectError as error:
        raise _unreachable(error, target) from error
    except httpx.ConnectTimeout as error:
        raise _unreachable(error, target, "no answer in time") from error
    except httpx.TimeoutException as error:
        raise disconnected(IDLE) from error
    except httpx.ProxyError as error:
        raise _unreachable(error, target, f"the proxy refused: {error}") from error
    except httpx.HTTPError as error:
        if target is None:
            raise disconnected(TRANSPORT_CUT) from error
        raise ProviderError(
            f"connection closed before an answer came from {target.shown_url}",
            retryable=True,
            kind="responseStreamConnectionFailed",
        ) from error


def _unreachable(
    error: Exception, target: Endpoint | None, cause: str | None = None
) -> ProviderError:
    place = target.shown_url if target else "the model provider"
    certificate = _first(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        return ProviderError(
            f"the certificate of {place} cannot be trusted: {certificate.verify_message}; "
            "if your network uses its own authority, name its file in SSL_CERT_FILE",
            kind="httpConnectionFailed",
        )
    name = f" of the model provider {target.provider!r}" if target else ""
    return ProviderError(
        f"cannot reach {place}: {cause or _plain_cause(error)}; "
        f"check the network and `base_url`{name}",
        retryable=True,
        kind="httpConnectionFailed",
    )


def _plain_cause(error: Exception) -> str:
    if _first(error, ConnectionRefusedError):
        return "connection refused"
    if unresolved := _first(error, socket.gaierror):
        return f"the host's name is not known ({unresolved.strerror})"
    return str(error) or type(error).__name__


def _first(error: BaseException, type_: type[_E]) -> _E | None:
    """Find the cause of a type among everything that led to an error."""
    seen: list[BaseException] = [error]
    for found in seen:
        if isinstance(found, type_):
            return found
        inner = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        causes = (found.__cause__, found.__context__, *inner)
        seen.extend(cause for cause in causes if cause is not None and cause not in seen)
    return None


def _is_momentary(error: ProviderError) -> bool:
    """Whether a silent retry is due; a wait the server names is the kernel's, which shows it."""
    if error.retry_after_s is not None:
        return False
    return error.kind in ("internalServerError", "responseStreamConnectionFailed")


async def _error_text(response: httpx.Response) -> str:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) >= _LARGEST_ERROR_BODY:
            break
    return body.decode("utf-8", "replace")


def _retry_after(headers: httpx.Headers) -> float | None:
    value = headers.get("retry-after", "").strip()
    try:
        return max(float(value), 0.0) if value else None
    except ValueError:
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    import time
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
