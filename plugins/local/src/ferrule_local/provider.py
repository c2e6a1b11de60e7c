"""The provider `local`: a small model in a process of its own, with a prompt and tools of its own.

The kernel constructs it once per session. The model is loaded with the first request and given
back when the session closes.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.provider import Completed
from ferrule_local.settings import read_settings
from ferrule_local.weights import by_name, find_weights

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from ferrule_hookspecs.plugins import PluginContext
    from ferrule_hookspecs.provider import ModelEvent, ModelRequest
    from ferrule_hookspecs.threads import TokenUsage
    from ferrule_local.dialogue import Dialogue
    from ferrule_local.engine_process import Engine

NOTICE: Final = (
    "A small embedded model is in use: good for toy tasks, slow, and often wrong. For a real one "
    "set OPENAI_API_KEY, use --oss with a model server on this machine, or configure another "
    "model_provider."
)
_STEP_TOKENS: Final = 1_500
_BYTES_PER_TOKEN: Final = 3
_SURE_REPEATS: Final = 3
_WARM: Final[Mapping[str, object]] = {"temperature": 0.7, "seed": 1}
_COLD: Final[Mapping[str, object]] = {"temperature": 0.0, "seed": 1}


class Spoken(Protocol):
    """An answer that is being written."""

    def add(self, text: str) -> Iterator[ModelEvent]:
        """Take more text."""
        ...

    def end(self) -> Iterator[ModelEvent]:
        """Take note that it is complete."""
        ...


class LocalProvider:
    """Runs the embedded model."""

    stream_max_retries = 1
    notice = NOTICE

    def __init__(self, context: PluginContext) -> None:
        """Check the settings; nothing is loaded."""
        self._context = context
        self._settings = read_settings(context.settings)
        self._engine: Engine | None = None
        self.name = str(context.settings.get("name") or "Embedded model")

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send one request and yield what comes back, ending with `Completed`.

        Raises:
            ProviderError: No weights, no library, or the history no longer fits the model.
        """
        from ferrule_local.dialogue import Dialogue, plain_messages
        from ferrule_local.spoken_step import SpokenStep, SpokenText, said_once
        from ferrule_local.steps import offered

        tools = offered(request.tools)
        if request.kind == "compaction" or not (tools.kinds or request.output_schema):
            body, spoken = _plain_body(plain_messages(request.input)), SpokenText()
        else:
            dialogue = Dialogue(request.input)
            if reason := self._why_to_stop(dialogue):
                for event in said_once(reason):
                    yield event
                yield Completed(_new_id(), None)
                return
            body = _step_body(dialogue, tools.kinds, request.output_schema)
            spoken = SpokenStep(tools, has_schema=request.output_schema is not None)
        self._check_size(body)
        # Closed with this generator, at once: that is what stops the model.
        async with aclosing(self._answer(body, spoken, request.model)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """End the engine and with it its memory."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.aclose()

    async def _answer(
        self, body: dict[str, Any], spoken: Spoken, model: str
    ) -> AsyncGenerator[ModelEvent]:
        engine = await self._ready_engine(model)
        end: dict[str, Any] = {}
        async with aclosing(engine.ask(body)) as messages:
            async for message in messages:
                for event in spoken.add(message.get("delta", "")) if "delta" in message else ():
                    yield event
                end = message.get("end", end)
        if error := end.get("error"):
            raise self._refused(str(error), str(end.get("type", "")))
        for event in spoken.end():
            yield event
        yield Completed(_new_id(), _usage(end.get("usage") or {}))

    async def _ready_engine(self, model: str) -> Engine:
        from ferrule_local.engine_process import EngineSettings, start_engine
        from ferrule_local.prompt import SYSTEM

        if self._engine is not None and not self._engine.is_alive:
            await self.aclose()
        if self._engine is None:
            own = self._settings
            settings = EngineSettings(
                path=self._weights(model),
                threads=own.threads,
                context=own.context,
                batch=own.batch,
                prompt=SYSTEM,
                cache=self._context.home / "cache" / "local-prompts",
            )
            self._engine = await start_engine(settings, self._context.environ)
        return self._engine

    def _weights(self, model: str) -> Path:
        path = find_weights(self._context.settings, model, self._context.home)
        if path is None:
            weights = by_name(model)
            raise ProviderError(
                f"the weights of {weights.name} are not on this machine: run `ferrule local pull "
                f"--model {weights.label}` ({weights.size / 1e9:.1f} GB), or set OPENAI_API_KEY to "
                "use a large model"
            )
        return path

    def _why_to_stop(self, dialogue: Dialogue) -> str | None:
        """Say why the turn should not go on; a small model goes in circles and does not notice."""
        if dialogue.repeats >= _SURE_REPEATS:
            return (
                f"I stopped: I took the same step {dialogue.repeats} times with the same result. "
                "The task may not be finished."
            )
        if dialogue.steps >= self._settings.max_steps:
            return f"I stopped after {dialogue.steps} steps. The task may not be finished."
        return None

    def _check_size(self, body: dict[str, Any]) -> None:
        written = sum(len(message["content"].encode()) for message in body["messages"])
        room = self._settings.context - _STEP_TOKENS
        if written // _BYTES_PER_TOKEN > room:
            raise self._refused("", "exceed_context_size_error")

    def _refused(self, error: str, kind: str) -> ProviderError:
        if kind == "exceed_context_size_error":
            return ProviderError(
                f"the conversation no longer fits the {self._settings.context} tokens of the "
                "embedded model: start a new one, or raise model_providers.local.settings.context",
                kind="contextWindowExceeded",
            )
        return ProviderError(f"the embedded model refused the request: {error}")


def _step_body(
    dialogue: Dialogue, kinds: list[str], output_schema: Mapping[str, object] | None
) -> dict[str, Any]:
    from ferrule_local.prompt import SYSTEM, step_grammar

    if dialogue.repeats > 1 and dialogue.last_tool == "read":
        kinds = [kind for kind in kinds if kind != "read"]  # it would read the file for ever
    return {
        "messages": [{"role": "system", "content": SYSTEM}, *dialogue.messages],
        "grammar": step_grammar(kinds, output_schema),
        "max_tokens": _STEP_TOKENS,
        "cache_prompt": True,
        # A model that repeats itself needs a push; with a fixed seed it is always the same one.
        **(_WARM if dialogue.repeats > 1 else _COLD),
    }


def _plain_body(messages: list[dict[str, str]]) -> dict[str, Any]:
    from ferrule_local.prompt import PLAIN

    return {
        "messages": [{"role": "system", "content": PLAIN}, *messages],
        "max_tokens": _STEP_TOKENS,
        **_COLD,
    }


def _usage(counted: Mapping[str, Any]) -> TokenUsage:
    details: Mapping[str, Any] = counted.get("prompt_tokens_details") or {}
    return {
        "totalTokens": int(counted.get("total_tokens", 0)),
        "inputTokens": int(counted.get("prompt_tokens", 0)),
        "cachedInputTokens": int(details.get("cached_tokens", 0)),
        "cacheWriteInputTokens": 0,
        "outputTokens": int(counted.get("completion_tokens", 0)),
        "reasoningOutputTokens": 0,
    }


def _new_id() -> str:
    return f"local_{uuid4().hex}"
