"""Runs a hook that is an address: the payload is posted there, and nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ferrule_hooks.answers import AnswerError, Raw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ferrule_hooks.handler import Handler

_OUTPUT_LIMIT: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}|\$(\w+)")


async def run_http(handler: Handler, payload: bytes, *, environ: Mapping[str, str]) -> Raw:
    """Post the payload; a redirection is not followed, as it would lead to another host.

    Raises:
        AnswerError: The server cannot be reached or did not answer with a success.
    """
    import httpx

    headers = {"content-type": "application/json"}
    for name, value in handler.headers.items():
        headers[name] = _filled(value, handler, environ)
    try:
        async with (
            httpx.AsyncClient(follow_redirects=False, timeout=handler.timeout_s) as client,
            client.stream("POST", handler.target, content=payload, headers=headers) as response,
        ):
            body = bytearray()
            async for data in response.aiter_bytes():
                body += data
                if len(body) > _OUTPUT_LIMIT:
                    raise AnswerError("answered more than 1 MiB")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AnswerError(f"could not be asked: {type(error).__name__}: {error}") from None
    if not response.is_success:
        raise AnswerError(f"answered with HTTP status {response.status_code}")
    return Raw(0, body.decode("utf-8", "replace"))


def _filled(text: str, handler: Handler, environ: Mapping[str, str]) -> str:
    """Put variables into a header; only those that the hook names as allowed."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return environ.get(name, "") if name in handler.allowed_env else ""

    return _VARIABLE.sub(value, text)
