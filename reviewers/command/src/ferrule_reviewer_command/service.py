"""Posts a request to a reviewer that is a service; certificates are verified."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ferrule_reviewer_command.answer import LIMIT, AnswerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_reviewer_command.settings import Settings


async def post(settings: Settings, payload: bytes, environ: Mapping[str, str]) -> bytes:
    """Return the body of the answer; a redirection is none, as it would lead to another host.

    The caller ends it when its time is up, and says so.

    Raises:
        AnswerError: The service cannot be reached, failed, or answered too much.
    """
    import httpx

    headers = {"content-type": "application/json", "accept": "application/json"}
    headers |= settings.headers
    for name, variable in settings.env_headers.items():
        if not environ.get(variable):
            raise AnswerError(f"was not asked: the variable {variable} of header {name} is not set")
        headers[name] = environ[variable]
    # What is only safe on this machine must not leave it through a proxy.
    is_remote = urlsplit(settings.url).scheme == "https"
    patience = settings.timeout_s + 1
    body = bytearray()
    try:
        async with (
            httpx.AsyncClient(
                follow_redirects=False, timeout=patience, trust_env=is_remote
            ) as client,
            client.stream("POST", settings.url, content=payload, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise AnswerError(f"answered with HTTP status {response.status_code}")
            async for data in response.aiter_bytes():
                body += data
                if len(body) > LIMIT:
                    raise AnswerError(f"answered more than {LIMIT} bytes")
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
        raise AnswerError(f"could not be asked: {type(error).__name__}: {error}") from None
    return bytes(body)
