"""The suite for compactors.

from ferrule_testkit import CompactorConformance

class TestDigest(CompactorConformance):
    def make(self, context):
        return Digest(context)
"""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar, Final, Literal, cast

import anyio
import anyio.lowlevel
import pytest

from ferrule_hookspecs.errors import FerruleError, ProviderError
from ferrule_hookspecs.history import HistoryItem, MessageItem, Role
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ItemDone, ModelEvent, ModelRequest
from ferrule_hookspecs.slots import CompactionMaterial, CompactionResult, Compactor
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, drive, must

Reason = Literal["manual", "auto", "overflow"]
_REASONS: Final[tuple[Reason, ...]] = ("manual", "auto", "overflow")
_TURNS_BEFORE_CANCEL: Final = (0, 1, 3, 30)
_TASK: Final = "Write the parser, and keep the name parse_all."


class CompactorConformance(Conformance):
    """What every compactor has to do.

    Attributes:
        model_says: What the model answers when it is asked for a summary.
        keeps_user_texts: Whether what the user wrote is in the shorter history word for word.
    """

    model_says: ClassVar[str] = "The parser is written; parse_all has tests; the docs are next."
    keeps_user_texts: ClassVar[bool] = True

    def make(self, context: PluginContext) -> Compactor:
        """Make the compactor under test."""
        raise NotImplementedError("say with `make` which compactor is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def compactor(self, context: PluginContext) -> Compactor:
        """The compactor under test."""
        return self.make(context)

    def test_making_one_starts_nothing(self, context: PluginContext) -> None:
        self.make(context)
        with noted_starts() as noted:
            self.make(context)
        must(not noted, f"making it {', '.join(noted)}", "slots.Compactor")

    @pytest.mark.parametrize("reason", _REASONS)
    def test_a_summary_stands_for_the_history(self, compactor: Compactor, reason: Reason) -> None:
        result = self._compacted(compactor, _Model(self.model_says), reason)
        where = "slots.CompactionResult"
        must(isinstance(result, CompactionResult), "it gives a CompactionResult", where)
        must(result.summary.strip(), "the summary is not blank", where)
        must(result.history, "something stands for the history", where)
        must(_is_json(list(result.history)), "the history is JSON", "history.HistoryItem")
        must(not set(_texts(result.history)) & set(_texts(_PREFIX)), "the prefix stays out", where)

    def test_what_the_user_wrote_is_kept(self, compactor: Compactor) -> None:
        if not self.keeps_user_texts:
            pytest.skip("it says that it does not")
        result = self._compacted(compactor, _Model(self.model_says))
        must(_TASK in "\n".join(_texts(result.history)), "it is", "slots.CompactionMaterial")

    def test_the_ledger_is_kept_as_it_is_or_left_to_the_kernel(self, compactor: Compactor) -> None:
        result = self._compacted(compactor, _Model(self.model_says))
        ledgers = [item for item in result.history if "<ledger>" in json.dumps(item)]
        must(ledgers in ([], [_LEDGER]), "the ledger is as it was", "slots.CompactionResult")

    def test_calls_and_outputs_stay_together(self, compactor: Compactor) -> None:
        result = self._compacted(compactor, _Model(self.model_says))
        asked = [_field(item, "call_id") for item in result.history if _is(item, "_call")]
        given = [_field(item, "call_id") for item in result.history if _is(item, "_output")]
        must(sorted(asked) == sorted(given), "each call has its output", "history")

    @pytest.mark.parametrize("said", ["", " \n\t ", None], ids=["empty", "blank", "nothing"])
    def test_a_summary_that_says_nothing_is_refused(
        self, compactor: Compactor, said: str | None
    ) -> None:
        with pytest.raises(FerruleError):
            self._compacted(compactor, _Model(said))

    def test_what_the_provider_refuses_for_good_is_raised(self, compactor: Compactor) -> None:
        with pytest.raises(FerruleError):
            self._compacted(compactor, _Model(ProviderError("no such model", kind="badRequest")))

    def test_nothing_it_is_given_is_changed(self, compactor: Compactor) -> None:
        request, material = _request(), _material()
        before = copy.deepcopy((list(request.input), material.ledger))
        self._compacted(compactor, _Model(self.model_says), "auto", request, material)
        after = (list(request.input), material.ledger)
        must(after == before, "request and material stay as they are", "slots.Compactor.compact")

    def test_its_requests_begin_with_what_the_provider_has_cached(
        self, compactor: Compactor
    ) -> None:
        model, request = _Model(self.model_says), _request()
        self._compacted(compactor, model, "auto", request)
        for sent in model.requests:
            same = list(sent.input)[: len(_PREFIX)] == list(request.input)[: len(_PREFIX)]
            must(same, "the prefix is sent as it was", "slots.Compactor.compact")
            must(sent.tools == request.tools, "tools are sent as they were", "slots.Compactor")

    @pytest.mark.parametrize("turns", _TURNS_BEFORE_CANCEL)
    def test_a_cancelled_compaction_ends_at_once(self, compactor: Compactor, turns: int) -> None:
        async def begin_and_cancel() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(_compact, compactor, _Model(hangs=True), "auto")
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

        drive(begin_and_cancel)

    def _compacted(
        self,
        compactor: Compactor,
        model: _Model,
        reason: Reason = "auto",
        request: ModelRequest | None = None,
        material: CompactionMaterial | None = None,
    ) -> CompactionResult:
        return drive(lambda: _compact(compactor, model, reason, request, material))


async def _compact(
    compactor: Compactor,
    model: _Model,
    reason: Reason,
    request: ModelRequest | None = None,
    material: CompactionMaterial | None = None,
) -> CompactionResult:
    given = material or _material()
    return await compactor.compact(request or _request(), model, reason=reason, material=given)


class _Model:
    """Says the same to every request, or fails, or hangs."""

    name = "scripted"
    stream_max_retries = 0

    def __init__(self, said: str | ProviderError | None = None, *, hangs: bool = False) -> None:
        self.requests: list[ModelRequest] = []
        self._said = said
        self._hangs = hangs

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        await anyio.lowlevel.checkpoint()
        if self._hangs:
            await anyio.sleep_forever()
        if isinstance(self._said, ProviderError):
            raise self._said
        if self._said is not None:
            yield ItemDone(_message("assistant", self._said))
        yield Completed("r1", None)

    async def aclose(self) -> None:
        return


def _message(role: Role, text: str) -> MessageItem:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


_PREFIX: Final[Sequence[HistoryItem]] = (
    _message("developer", "You are an agent that keeps its word."),
    _message("user", "<environment_context>here</environment_context>"),
)
_LEDGER: Final = _message("user", "<ledger>\n- exit 0: make test\n</ledger>")


def _request() -> ModelRequest:
    body: list[HistoryItem] = [_message("user", _TASK)]
    for number in range(20):
        call_id = f"call_{number}"
        arguments = json.dumps({"cmd": f"cat part{number}.py"})
        body += [
            _message("assistant", f"I look at part {number}."),
            {
                "type": "function_call",
                "call_id": call_id,
                "name": "exec_command",
                "arguments": arguments,
            },
            {"type": "function_call_output", "call_id": call_id, "output": "line\n" * 200},
        ]
    tools = (FunctionSchema("exec_command", "Runs a command.", {"type": "object"}),)
    return ModelRequest("thread-1", "turn-1", "gpt-5.5", (*_PREFIX, *body), tools)


def _material() -> CompactionMaterial:
    return CompactionMaterial(len(_PREFIX), (_TASK,), _LEDGER, 20_000, 200_000)


def _is(item: HistoryItem, ending: str) -> bool:
    return item["type"].endswith(ending)


def _field(item: HistoryItem, name: str) -> str:
    return str(cast("dict[str, object]", item).get(name))


def _texts(items: Sequence[HistoryItem]) -> list[str]:
    found: list[str] = []
    for item in items:
        if item["type"] == "message":
            found += [part.get("text", "") for part in item["content"]]
    return found


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
