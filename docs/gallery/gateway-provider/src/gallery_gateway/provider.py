"""The provider: one request to the gateway, a stream of events back.

The kernel tries again where the error says that this may help, as often as `stream_max_retries`
and as late as the gateway asks; a provider only has to tell which error is which.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ferrule_hookspecs import PluginContext, ProviderError
from ferrule_hookspecs.provider import Completed, ModelEvent, ModelRequest
from gallery_gateway.messages import body
from gallery_gateway.reply import Reply

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S: Final = 300.0
_BUSY: Final = 429
_BROKEN: Final = 500
_REFUSED: Final = (401, 403)
_KINDS: Final = {
    "context_length_exceeded": "contextWindowExceeded",
    "insufficient_quota": "usageLimitExceeded",
}


class GatewayProvider:
    """Sends requests to `base_url` of its table, with the key that `env_key` names."""

    def __init__(self, context: PluginContext) -> None:
        settings = context.settings
        self.name = str(settings.get("name", "gateway"))
        self.stream_max_retries = int(str(settings.get("stream_max_retries", 5)))
        self._url = f"{str(settings.get('base_url', '')).rstrip('/')}/chat/completions"
        self._variable = str(settings.get("env_key") or "")
        self._key = context.environ.get(self._variable, "")
        self._team = str(settings.get("team") or "")

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield what the model says, as it says it, up to `Completed`."""
        import httpx  # takes long to import, and only a request needs it

        reply = Reply(request.tools)
        call = {"content": json.dumps(body(request), default=dict), "headers": self._headers()}
        try:
            async with (
                httpx.AsyncClient(timeout=_TIMEOUT_S) as client,
                client.stream("POST", self._url, **call) as response,
            ):
                if not response.is_success:
                    raise _refusal(self.name, response, await response.aread())
                async for line in response.aiter_lines():
                    for event in _understood(reply, line):
                        yield event
                        if isinstance(event, Completed):
                            return
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            text = f"{self.name} cannot be reached at {self._url}: {type(error).__name__}"
            raise ProviderError(text, retryable=True) from error
        yield reply.completed()  # some gateways just hang up; it raises where more had to come

    def _headers(self) -> dict[str, str]:
        if self._variable and not self._key:
            raise ProviderError(f"{self._variable} is not set", kind="unauthorized")
        headers = {"content-type": "application/json", "accept": "text/event-stream"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        return headers | ({"x-team": self._team} if self._team else {})

    async def aclose(self) -> None:
        """Every request closes its own connection."""


def _understood(reply: Reply, line: str) -> list[ModelEvent]:
    if not line.startswith("data:"):
        return []
    data = line.removeprefix("data:").strip()
    if data == "[DONE]":
        return [reply.completed()]
    try:
        chunk: Mapping[str, Any] = json.loads(data)
        if "error" in chunk:
            raise _failure(chunk["error"])
        return list(reply.take(chunk))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ProviderError("the answer makes no sense", retryable=True) from error


def _failure(said: Mapping[str, Any]) -> ProviderError:
    """Make an error of a stream that failed on its way."""
    kind = _KINDS.get(str(said.get("code") or ""), "other")
    text = str(said.get("message") or "the answer failed")
    return ProviderError(text, retryable=kind == "other", kind=kind)


def _refusal(name: str, response: "httpx.Response", content: bytes) -> ProviderError:
    """Make an error of an answer that is no stream."""
    status = response.status_code
    try:
        said: Mapping[str, Any] = json.loads(content)["error"]
        code, text = str(said.get("code") or ""), str(said.get("message") or "")
    except (AttributeError, KeyError, TypeError, ValueError):
        code, text = "", ""
    kind = "unauthorized" if status in _REFUSED else _KINDS.get(code, "other")
    after = response.headers.get("retry-after", "")
    return ProviderError(
        f"{name} answered {status} {response.reason_phrase}",
        retryable=kind == "other" and (status == _BUSY or status >= _BROKEN),
        retry_after_s=float(after) if after.isdecimal() else None,
        kind=kind,
        status=status,
        details=text or None,
    )
