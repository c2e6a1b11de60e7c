"""A channel over httpx, for what a plain connection cannot do: proxies, user names, other scripts.

The only module that imports httpx.
"""

from __future__ import annotations

import ssl
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from ferrule_wire.channel import (
    CONNECT_TIMEOUT_S,
    BrokenLineError,
    CertificateError,
    IdleLineError,
    Target,
    UnreachableError,
    first_cause,
    plain_cause,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    import httpx
else:
    # httpx imports its own command line, and with it click and rich (0.1 s), where those happen to
    # be installed. None in sys.modules says "not there", a case that httpx provides for.
    sys.modules.setdefault("httpx._main", None)
    httpx = import_module("httpx")
    if sys.modules["httpx._main"] is None:
        del sys.modules["httpx._main"]


class HttpxChannel:
    """One httpx client."""

    def __init__(self, target: Target) -> None:
        """Connect to nothing yet; httpx reads the proxies from the environment."""
        self._url = target.url
        self._client = httpx.AsyncClient(
            # For http there is no certificate to verify, and none need be loaded (30 ms). The
            # connection to an https proxy has a context of its own, which always verifies.
            verify=target.parts.scheme == "https",
            timeout=httpx.Timeout(target.idle_timeout_s, connect=CONNECT_TIMEOUT_S),
            follow_redirects=False,
        )

    async def post(self, body: bytes, headers: Mapping[str, str]) -> HttpxAnswer:
        """Send a request and await the head of the answer."""
        request = self._client.build_request("POST", self._url, content=body, headers=dict(headers))
        with _named_failures():
            return HttpxAnswer(await self._client.send(request, stream=True))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()


class HttpxAnswer:
    """An answer that came through httpx."""

    def __init__(self, response: httpx.Response) -> None:
        """Begin to read after the head."""
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Read the body."""
        with _named_failures():
            async for piece in self._response.aiter_bytes():
                yield piece

    async def aclose(self) -> None:
        """Be done with the answer."""
        await self._response.aclose()


@contextmanager
def _named_failures() -> Iterator[None]:
    try:
        yield
    except (httpx.ConnectError, httpx.ProxyError) as error:
        refused = first_cause(error, ssl.SSLCertVerificationError)
        if refused is not None:
            raise CertificateError(refused.verify_message) from error
        raise UnreachableError(plain_cause(error)) from error
    except httpx.ConnectTimeout as error:
        raise UnreachableError("no answer in time") from error
    except httpx.TimeoutException as error:
        raise IdleLineError("nothing came in time") from error
    except httpx.HTTPError as error:
        raise BrokenLineError(str(error)) from error
