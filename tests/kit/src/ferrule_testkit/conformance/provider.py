"""The suite for model providers, with a scripted model at the other end.

from ferrule_testkit import ProviderConformance

class TestGateway(ProviderConformance):
    speaks_to = "chat"

    def make(self, context):
        return GatewayProvider(context)
"""

from __future__ import annotations

import copy
import json
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal, cast

import anyio
import pytest

from ferrule_hookspecs.errors import ProviderError
from ferrule_hookspecs.history import CallOutputItem, FunctionCallItem, HistoryItem, MessageItem
from ferrule_hookspecs.plugins import PluginContext
from ferrule_hookspecs.provider import Completed, ModelProvider, ModelRequest
from ferrule_hookspecs.tools import FunctionSchema
from ferrule_testkit.conformance.starts import noted_starts
from ferrule_testkit.conformance.suite import Conformance, drive, must
from ferrule_testkit.model_items import function_call, message, reasoning
from ferrule_testkit.provider_talk import Heard

if TYPE_CHECKING:
    from ferrule_testkit.model_server import ScriptedModelServer

KEY: Final = "sk-conformance-0123456789"
_KEY_NAME: Final = "CONFORMANCE_API_KEY"
_TOOL: Final = FunctionSchema(
    "look_up",
    "Looks something up.",
    {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
)
_PASSING: Final = {"rate limit": 429, "overloaded": 503, "server fault": 500}
_LASTING: Final = {"bad request": 400, "unauthorized": 401, "not found": 404}


class ProviderConformance(Conformance):
    """What every provider has to do.

    Attributes:
        speaks_to: The wire of the scripted model that it speaks; empty where it speaks another,
            which leaves out what needs a server.
        model: The model that is asked for.
        keeps_reasoning: Whether the wire has reasoning that is sent back.
    """

    speaks_to: ClassVar[Literal["responses", "chat", "anthropic", ""]] = "responses"
    model: ClassVar[str] = "gpt-5.5"
    keeps_reasoning: ClassVar[bool] = True

    def make(self, context: PluginContext) -> ModelProvider:
        """Make the provider under test."""
        raise NotImplementedError("say with `make` which provider is tested")

    def modules(self, context: PluginContext) -> Sequence[str]:
        """The module of what `make` makes."""
        return (type(self.make(context)).__module__,)

    @pytest.fixture
    def server(self, request: pytest.FixtureRequest) -> ScriptedModelServer:
        """The scripted model."""
        if not self.speaks_to:
            pytest.skip("it speaks no wire of the scripted model")
        return request.getfixturevalue("model_server")

    @pytest.fixture
    def there(self, request: pytest.FixtureRequest, context: PluginContext) -> PluginContext:
        """A context whose provider table names the scripted model."""
        table: dict[str, object] = {"name": "scripted", **self.settings}
        if self.speaks_to:
            server = cast("ScriptedModelServer", request.getfixturevalue("model_server"))
            table |= {"base_url": server.base_url, "env_key": _KEY_NAME}
            table |= {"request_max_retries": 0}
        environ = {**context.environ, _KEY_NAME: KEY}
        return context._replace(settings=table, environ=environ)

    @pytest.fixture
    def made_with(self, there: PluginContext) -> PluginContext:
        """The context with the provider's table."""
        return there

    @pytest.fixture
    def provider(self, there: PluginContext) -> ModelProvider:
        """The provider under test; tests close what they use."""
        return self.make(there)

    def test_it_says_what_it_is(self, provider: ModelProvider) -> None:
        must(provider.name.strip(), "a provider has a name", "provider.ModelProvider.name")
        retries = provider.stream_max_retries
        must(retries >= 0, "it is a number", "provider.ModelProvider.stream_max_retries")

    def test_making_one_starts_nothing(self, there: PluginContext) -> None:
        self.make(there)
        with noted_starts() as noted:
            self.make(there)
        must(not noted, f"making it {', '.join(noted)}", "provider.ModelProvider")

    def test_an_answer_ends_with_completed_and_nothing_behind_it(
        self, provider: ModelProvider, there: PluginContext
    ) -> None:
        heard = self._talk(provider, self._request(_user("hello")))
        must(heard.error is None, f"an answer is no error: {heard.error}", "provider")
        ends = [isinstance(event, Completed) for event in heard.events]
        must(ends.count(True) == 1 and ends[-1], "Completed comes once, and last", "provider")

    def test_text_comes_as_it_is_said_and_whole(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        said = 'Grüße,\nein Text mit \U0001f600 und "quotes".'
        server.play([[message(said)]])
        heard = self._talk(provider, self._request(_user("hello")))
        texts = [
            "".join(part.get("text", "") for part in item["content"])
            for item in heard.items
            if item["type"] == "message"
        ]
        must(texts == [said], f"the message is {said!r}, not {texts}", "provider.ItemDone")
        must(heard.text == said, "the deltas make up the text", "provider.TextDelta")

    def test_a_call_comes_with_its_arguments(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        server.play([[function_call("look_up", {"what": 'a"b\n\U0001f600'}, call_id="call_a")]])
        (call,) = self._calls(provider, self._request(_user("look")))
        must(call["name"] == "look_up", "the name is that of the tool", "history.FunctionCallItem")
        given = json.loads(call["arguments"])
        must(given == {"what": 'a"b\n\U0001f600'}, "they are as written", "history")

    def test_calls_at_the_same_time_stay_apart(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        answers = [function_call("look_up", {"what": f"{n}"}, call_id=f"call_{n}") for n in "ab"]
        server.play([answers])
        calls = self._calls(provider, self._request(_user("look")))
        what = [json.loads(call["arguments"])["what"] for call in calls]
        must(what == ["a", "b"], "each call has its own arguments", "history.FunctionCallItem")
        ids = {call["call_id"] for call in calls}
        must(len(ids) == 2, "each call has its own id", "history.FunctionCallItem.call_id")

    def test_a_conversation_goes_on_with_calls_outputs_and_reasoning(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        thought = [reasoning("I look it up.")] if self.keeps_reasoning else []
        server.play([[*thought, function_call("look_up", {"what": "x"})], [message("found")]])
        first, second = _user("look"), self._request()

        async def both() -> list[Heard]:
            asked = await _heard(provider, self._request(first))
            outputs: list[CallOutputItem] = [
                {
                    "type": "function_call_output",
                    "call_id": item["call_id"],
                    "output": "it is there",
                }
                for item in asked.items
                if item["type"] == "function_call"
            ]
            history = [first, *asked.items, *outputs]
            answered = await _heard(provider, second._replace(input=history))
            await provider.aclose()
            return [asked, answered]

        asked, answered = drive(both)
        must(answered.error is None, f"it goes on: {answered.error}", "provider")
        sent = json.dumps(server.requests[-1].body)
        must("it is there" in sent, "outputs are sent", "history.FunctionCallOutputItem")
        kept = [item["type"] for item in asked.items].count("reasoning")
        must(kept or not self.keeps_reasoning, "reasoning is an item", "history")
        sealed = "c2VhbGVk" in sent or "I look it up." in sent
        must(sealed or not self.keeps_reasoning, "reasoning is sent back", "history")

    def test_what_was_used_is_told(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        server.play([[message("hi")]])
        heard = self._talk(provider, self._request(_user("hello")))
        (end,) = heard.of(Completed)
        must(end.usage is not None, "the tokens are counted", "provider.Completed.usage")
        must((end.usage or {}).get("inputTokens"), "input counts", "threads.TokenUsage")

    @pytest.mark.parametrize("status", _PASSING.values(), ids=_PASSING)
    def test_what_may_pass_may_be_tried_again(
        self, provider: ModelProvider, server: ScriptedModelServer, status: int
    ) -> None:
        server.play([{"status": status, "headers": {"retry-after": "7"}}])
        error = self._talk(provider, self._request(_user("hello"))).error
        must(error is not None, "it is a ProviderError", "errors.ProviderError")
        must(error is not None and error.retryable, "it may pass", "errors.ProviderError.retryable")

    @pytest.mark.parametrize("status", _LASTING.values(), ids=_LASTING)
    def test_what_will_not_pass_is_not_tried_again(
        self, provider: ModelProvider, server: ScriptedModelServer, status: int
    ) -> None:
        server.play([{"status": status}])
        error = self._talk(provider, self._request(_user("hello"))).error
        must(error is not None, "it is a ProviderError", "errors.ProviderError")
        lasting = error is not None and not error.retryable
        must(lasting, "it will not pass", "errors.ProviderError.retryable")
        must(len(server.requests) == 1, "it is asked once", "errors.ProviderError")

    def test_how_long_to_wait_is_passed_on(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        server.play([{"status": 429, "headers": {"retry-after": "7"}}])
        error = self._talk(provider, self._request(_user("hello"))).error
        waits = error is not None and error.retry_after_s == 7
        must(waits, "the server names 7 s", "errors.ProviderError.retry_after_s")

    @pytest.mark.parametrize(
        "turn",
        [{"drop": True}, {"items": [message("one two three")], "cut_after": 3}],
        ids=["no answer", "cut"],
    )
    def test_a_broken_stream_is_an_error_that_may_pass(
        self, provider: ModelProvider, server: ScriptedModelServer, turn: dict[str, object]
    ) -> None:
        server.play([turn])
        heard = self._talk(provider, self._request(_user("hello")))
        must(not heard.of(Completed), "what is cut off is not complete", "provider.Completed")
        passes = heard.error is not None and heard.error.retryable
        must(passes, "it may be tried again", "errors.ProviderError.retryable")

    @pytest.mark.parametrize("text", ["data: {not json\n\n", "data: 7\n\n", "event: ?\n\n\n"])
    def test_nonsense_on_the_wire_is_no_answer(
        self, provider: ModelProvider, server: ScriptedModelServer, text: str
    ) -> None:
        server.play([{"events": [text]}])
        heard = self._talk(provider, self._request(_user("hello")))
        must(heard.error is not None, "it is a ProviderError", "errors.ProviderError")

    def test_a_server_that_is_not_there_is_named(self, there: PluginContext) -> None:
        if not self.speaks_to:
            pytest.skip("it has no server of the suite")
        with socket.socket() as taken:  # and not served: nobody else can listen there meanwhile
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            table = {**there.settings, "base_url": f"http://127.0.0.1:{port}/v1"}
            provider = self.make(there._replace(settings=table))
            error = self._talk(provider, self._request(_user("hello"))).error
        named = error is not None and str(port) in f"{error} {error.details or ''}"
        must(named, f"the error names the address: {error}", "errors.ProviderError")

    @pytest.mark.parametrize("status", [400, 401, 500])
    def test_no_error_tells_the_key(
        self, provider: ModelProvider, server: ScriptedModelServer, status: int
    ) -> None:
        server.play([{"status": status, "body": {"error": {"message": "no", "type": "x"}}}])
        error = self._talk(provider, self._request(_user("hello"))).error
        told = "" if error is None else f"{error} {error.details} {error!r}"
        must(KEY not in told, "secrets stay out of errors", "errors.ProviderError")
        must(KEY not in json.dumps(server.requests[-1].body), "and out of bodies", "provider")

    def test_whoever_stops_listening_closes_the_connection(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        server.play([{"items": [message("one")], "hang": True}])

        async def listen_and_leave() -> None:
            with anyio.CancelScope() as scope:
                stream = provider.stream(self._request(_user("hello")))
                async for _ in stream:
                    scope.cancel()
            while server.open_connections:
                await anyio.sleep(0.005)
            await provider.aclose()

        drive(listen_and_leave)

    def test_requests_at_the_same_time_stay_apart(
        self, provider: ModelProvider, server: ScriptedModelServer
    ) -> None:
        names = [f"request {n}" for n in range(6)]
        routes = [{"contains": name, "turns": [[message(f"re: {name}")]]} for name in names]
        server.play({"routes": routes, "turns": []})
        texts: dict[str, str] = {}

        async def at_once() -> None:
            async def one(name: str) -> None:
                texts[name] = (await _heard(provider, self._request(_user(name)))).text

            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(one, name)
            await provider.aclose()

        drive(at_once)
        must(texts == {name: f"re: {name}" for name in names}, "each gets its own", "provider")

    def test_nothing_it_is_given_is_changed(self, provider: ModelProvider) -> None:
        request = self._request(_user("hello"))
        before = copy.deepcopy((request.input, dict(_TOOL.parameters)))
        self._talk(provider, request)
        after = (request.input, dict(_TOOL.parameters))
        must(after == before, "a request stays as it is", "provider.ModelRequest")

    def test_closing_it_may_be_done_twice_and_without_a_request(
        self, provider: ModelProvider
    ) -> None:
        async def close() -> None:
            await provider.aclose()
            await provider.aclose()

        drive(close)

    def _request(self, *items: HistoryItem) -> ModelRequest:
        return ModelRequest("thread-1", "turn-1", self.model, list(items), (_TOOL,))

    def _talk(self, provider: ModelProvider, request: ModelRequest) -> Heard:
        async def talk() -> Heard:
            try:
                return await _heard(provider, request)
            finally:
                await provider.aclose()

        return drive(talk)

    def _calls(self, provider: ModelProvider, request: ModelRequest) -> Sequence[FunctionCallItem]:
        heard = self._talk(provider, request)
        return [item for item in heard.items if item["type"] == "function_call"]


async def _heard(provider: ModelProvider, request: ModelRequest) -> Heard:
    heard = Heard()
    try:
        async for event in provider.stream(request):
            heard.events.append(event)
    except ProviderError as error:
        heard.error = error
    return heard


def _user(text: str) -> MessageItem:
    return {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
    }
