"""The provider `anthropic`: one POST per request, answered by a stream of server-sent events.

The kernel constructs it once per session; what a request needs is imported when `prewarm` or the
first request asks for it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from ferrule_anthropic.settings import API_VERSION, read_messages_settings
from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.credentials import Credentials
from ferrule_wire.exchange import Exchange
from ferrule_wire.settings import Vendor, read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_wire.failures import HttpFailure
    from ferrule_wire.settings import ProviderSettings

    Events = AsyncIterator[ModelEvent]

_ANTHROPIC: Final = Vendor(
    "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", key_header="x-api-key"
)
_WHERE_KEYS_ARE: Final = "Set it to a key from https://platform.claude.com/settings/keys."


class AnthropicProvider:
    """Speaks the Messages API over HTTP."""

    catalogue_headers: Final = MappingProxyType({"anthropic-version": API_VERSION})

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        settings = read_settings(context.settings, _ANTHROPIC)
        if settings.env_key == _ANTHROPIC.env_key and not settings.env_key_instructions:
            settings = settings._replace(env_key_instructions=_WHERE_KEYS_ARE)
        own = context.settings.get("settings") or {}
        self._messages_settings = read_messages_settings(cast("Mapping[str, object]", own))
        credentials = Credentials(settings, context.environ, context.home)
        self._exchange = Exchange(settings, credentials, "messages", _translator(settings))
        self._unreadable: set[str] = set()
        self.name = settings.name
        self.stream_max_retries = settings.stream_max_retries

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_anthropic.body
        import ferrule_anthropic.decoder  # noqa: F401 -- imported for the first request

        self._exchange.prewarm()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`.

        Thinking the server refuses to read is left out of this request and of those that follow.
        """
        try:
            async with self._answer(request) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            if not self._forgets_thinking(request, error):
                raise
        else:
            return
        async with self._answer(request) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the connections."""
        await self._exchange.aclose()

    def _answer(self, request: ModelRequest) -> AbstractAsyncContextManager[Events]:
        from ferrule_anthropic.body import encode_request
        from ferrule_anthropic.decoder import MessageDecoder
        from ferrule_anthropic.names import OfferedTools

        encoded = encode_request(request, self._messages_settings, self._unreadable)
        decoder = MessageDecoder(OfferedTools(request.tools))
        return self._exchange.events(encoded.body, encoded.headers, decoder)

    def _forgets_thinking(self, request: ModelRequest, error: ProviderError) -> bool:
        """Whether the server refused thinking; then what the request carried is remembered."""
        from ferrule_anthropic.failures import refuses_thinking

        if not refuses_thinking(error):
            return False
        sealed = {
            item.get("encrypted_content") or ""
            for item in request.input
            if item["type"] == "reasoning"
        }
        is_news = not sealed <= self._unreadable
        self._unreadable |= sealed
        return is_news


def _translator(settings: ProviderSettings) -> Callable[[HttpFailure], ProviderError]:
    """Load the words for failures when there is one."""

    def translate(failure: HttpFailure) -> ProviderError:
        from ferrule_anthropic.failures import FailureTranslator

        return FailureTranslator(settings)(failure)

    return translate
