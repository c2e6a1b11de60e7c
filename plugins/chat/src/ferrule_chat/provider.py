"""The provider `chat`: Chat Completions, streamed as server-sent events.

The kernel constructs it once per session; what a request needs is imported when `prewarm` or the
first request asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ferrule_chat.quirks import read_quirks
from ferrule_hookspecs.errors import ProviderError
from ferrule_wire.credentials import Credentials
from ferrule_wire.exchange import Exchange
from ferrule_wire.settings import Vendor, read_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ferrule_chat.decoder import ChatDecoder
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_wire.failures import HttpFailure

_OPENAI: Final = Vendor("chat", "https://api.openai.com/v1", "OPENAI_API_KEY")
_METHOD: Final = "chat/completions"
_NOW_IN_TEXT: Final = (
    "{name} does not let the model {model!r} call tools by the API's own means ({said}). "
    "Its calls are written as text from now on, which works less well."
)


class ChatProvider:
    """Speaks Chat Completions."""

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is sent and nothing heavy is imported."""
        self._settings = read_settings(context.settings, _OPENAI)
        self._quirks = read_quirks(context.settings, self._settings.base_url)
        credentials = Credentials(self._settings, context.environ, context.home)
        self._exchange = Exchange(self._settings, credentials, _METHOD, _translated)
        self._text_models: set[str] = set()
        self.name = self._settings.name
        self.stream_max_retries = self._settings.stream_max_retries

    def prewarm(self) -> None:
        """Import what a request needs; may run in any thread."""
        import ferrule_chat.body
        import ferrule_chat.decoder  # noqa: F401 -- imported for the first request

        self._exchange.prewarm()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`.

        A model that is refused its tools is asked once more, with calls in plain text.
        """
        from ferrule_chat.body import encode_request
        from ferrule_wire.identity import stream_headers

        remark = ""
        while True:
            in_text = self._is_in_text(request)
            body = encode_request(request, self._quirks, in_text=in_text)
            decoder = self._decoder(request, in_text=in_text)
            if remark:
                decoder.reply.remark(remark)
            try:
                async with self._exchange.events(body, stream_headers(), decoder) as events:
                    async for event in events:
                        yield event
            except ProviderError as error:
                if in_text or not request.tools or not _refuses_tools(error):
                    raise self._mended(error, request.model) from None
                self._text_models.add(request.model)
                remark = _NOW_IN_TEXT.format(name=self.name, model=request.model, said=error)
            else:
                return

    async def aclose(self) -> None:
        """Close the connections."""
        await self._exchange.aclose()

    def _is_in_text(self, request: ModelRequest) -> bool:
        info = request.model_info
        is_known = info is not None and info.tool_calls == "text"
        chosen = self._quirks.tool_calls == "text"
        return chosen or is_known or request.model in self._text_models

    def _decoder(self, request: ModelRequest, *, in_text: bool) -> ChatDecoder:
        from ferrule_chat.decoder import ChatDecoder
        from ferrule_chat.functions import Functions

        parser: ReplyParser | None = None
        if request.tools and (in_text or self._quirks.text_calls):
            from ferrule_wire.text_protocol import ReplyParser

            parser = ReplyParser(request.tools)
        return ChatDecoder(self._quirks, Functions(request.tools), parser)

    def _mended(self, error: ProviderError, model: str) -> ProviderError:
        from ferrule_chat.failures import Mends

        return Mends(self._settings, self._quirks).mend(error, model)


def _translated(failure: HttpFailure) -> ProviderError:
    from ferrule_chat.failures import chat_failure

    return chat_failure(failure)


def _refuses_tools(error: ProviderError) -> bool:
    from ferrule_chat.failures import says_tools_refused

    return error.kind == "badRequest" and says_tools_refused(str(error))
