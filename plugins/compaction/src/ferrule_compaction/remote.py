"""The compactor `remote`: the provider shortens the history itself, into an item only it can read.

Two forms are known: a request whose input ends with a trigger, answered by one item, and an
endpoint of its own. Where the provider refuses both, the summary takes over, and that is said once.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final, cast

from ferrule_compaction.summary import SummaryCompactor, kept
from ferrule_compaction.trimming import SEALED
from ferrule_hookspecs.errors import ConfigError, FerruleError, ProviderError
from ferrule_hookspecs.provider import ItemDone
from ferrule_hookspecs.slots import CompactionResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
    from typing import Literal

    from ferrule_hookspecs.history import HistoryItem
    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelProvider, ModelRequest
    from ferrule_hookspecs.slots import CompactionMaterial

    _Send = Callable[[ModelRequest], AsyncIterator[ModelEvent]]

_TRIGGER: Final = {"type": "compaction_trigger"}
_FORMS: Final = ("trigger", "endpoint")
_SUMMARY: Final = "(kept by the provider, in a form that only it can read)"


class RemoteRefusedError(FerruleError):
    """The provider cannot shorten a history, or not in this way."""


class RemoteCompactor:
    """Has the provider do it. Constructed once per session; remembers what was refused."""

    name = "remote"

    def __init__(self, context: PluginContext) -> None:
        """Read `[compactors.remote]`; nothing is sent."""
        self._context = context
        self._summary = SummaryCompactor(context)
        self._forms = list(_configured_forms(context))

    async def compact(
        self,
        request: ModelRequest,
        provider: ModelProvider,
        *,
        reason: Literal["manual", "auto", "overflow"],
        material: CompactionMaterial,
    ) -> CompactionResult:
        """Ask the provider, in each form that was not refused yet; else ask for a summary.

        Raises:
            ProviderError: The provider is of no help at the moment.
            SummaryRefusedError: There is no summary, or nothing is left in it.
        """
        if self._forms and reason != "overflow":  # what does not fit is not sent whole again
            try:
                item = await self._asked(request, provider)
            except (ProviderError, RemoteRefusedError) as error:
                self._context.warn(
                    f"the provider {provider.name!r} did not shorten the history itself: {error};"
                    " the model is asked for a summary instead"
                )
                if getattr(error, "kind", "") == "contextWindowExceeded":
                    reason = "overflow"
            else:
                return CompactionResult([*kept(material), item], _SUMMARY)
        return await self._summary.compact(request, provider, reason=reason, material=material)

    async def _asked(self, request: ModelRequest, provider: ModelProvider) -> HistoryItem:
        """Ask in the first form that is not refused; one that is, is not tried again.

        Raises:
            ProviderError: It fails at the moment.
            RemoteRefusedError: It refuses, or answers with something else.
        """
        ask = getattr(provider, "compact", None)
        if ask is None:
            self._forms.clear()
            raise RemoteRefusedError("its API cannot")
        refused: FerruleError = RemoteRefusedError("it was asked in no form")
        while self._forms:
            try:
                if self._forms[0] == "endpoint":
                    return await _compacted(cast("_Send", ask), request)
                triggered = (*request.input, cast("HistoryItem", _TRIGGER))
                return await _compacted(provider.stream, request._replace(input=triggered))
            except ProviderError as error:
                if error.retryable or error.kind == "contextWindowExceeded":
                    raise
                refused = error
            except RemoteRefusedError as error:
                refused = error
            self._forms.pop(0)
        raise refused


async def _compacted(send: _Send, request: ModelRequest) -> HistoryItem:
    """Send a request and return the one item that stands for the history.

    Raises:
        RemoteRefusedError: There is none, or more than one, or nothing in it.
    """
    request = request._replace(kind="compaction", output_schema=None)
    async with aclosing(cast("AsyncGenerator[ModelEvent]", send(request))) as events:
        items = [event.item async for event in events if isinstance(event, ItemDone)]
    found = [item for item in items if str(item["type"]) in SEALED]
    sealed = [each for each in found if cast("dict[str, object]", each).get("encrypted_content")]
    if len(found) != 1 or not sealed:
        raise RemoteRefusedError(
            f"it answered with {len(sealed)} shortened histories, not with one"
        )
    return sealed[0]


def _configured_forms(context: PluginContext) -> Sequence[str]:
    form = context.table("compactors", "remote").get("form")
    if form is None:
        return _FORMS
    if form not in _FORMS:
        raise ConfigError(
            f"compactors.remote.form must be one of {', '.join(_FORMS)}, not {form!r}"
        )
    return (str(form),)
