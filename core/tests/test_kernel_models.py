"""What plugins know about a model holds for the sessions that use it."""

import pytest
from kernel_plugins.speech import DONE, call, say

from ferrule_hookspecs.models import ModelInfo, ModelPrices
from ferrule_hookspecs.provider import Completed

USAGE = {
    "totalTokens": 110,
    "inputTokens": 100,
    "cachedInputTokens": 60,
    "cacheWriteInputTokens": 20,
    "outputTokens": 10,
    "reasoningOutputTokens": 0,
}
SPENT = Completed("r", USAGE)


@pytest.fixture
def knows(stage):
    """Let a plugin know models."""

    def know(*models):
        stage.hooks["ferrule_models"] = lambda context, model: [
            info for info in models if model in (None, info.name)
        ]

    return know


def usages(bench):
    return [params["tokenUsage"] for params in bench.of("thread/tokenUsage/updated")]


def switch(bench, *models):
    async def script(session):
        for count, model in enumerate(models, start=1):
            await bench.start(session, model=model)
            await bench.until("turn/completed", count)

    return bench.run(script)


def test_the_request_carries_the_facts(bench, stage, knows):
    info = ModelInfo("test-model", context_window=1000, default_effort="low")
    knows(info)
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert stage.requests[0].model_info == info
    assert stage.requests[0].reasoning_effort == "low"
    assert usages(bench)[0]["modelContextWindow"] == 1000


def test_the_configuration_beats_the_facts(bench, stage, knows):
    bench.configure('model_context_window = 500\nmodel_reasoning_effort = "high"')
    knows(ModelInfo("test-model", context_window=1000, default_effort="low"))
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert usages(bench)[0]["modelContextWindow"] == 500
    assert stage.requests[0].reasoning_effort == "high"


def test_facts_that_name_the_provider_come_before_those_that_hold_for_all(bench, stage, knows):
    knows(
        ModelInfo("test-model", context_window=1),
        ModelInfo("test-model", provider="other", context_window=2),
        ModelInfo("test-model", provider="staged", context_window=3),
    )
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert stage.requests[0].model_info.context_window == 3


def test_another_providers_facts_hold_but_not_its_price(bench, stage, knows):
    prices = ModelPrices(1, 1)
    knows(ModelInfo("test-model", provider="other", context_window=2, prices=prices))
    stage.turns.append([*say("ok"), SPENT])

    bench.turn()

    assert usages(bench)[0]["modelContextWindow"] == 2
    assert usages(bench)[0]["cost"] == {"turnUsd": None, "totalUsd": None}


def test_a_turn_and_a_thread_have_a_cost(bench, stage, knows):
    knows(ModelInfo("test-model", prices=ModelPrices(10, 1000, cached_input=1, cache_write=100)))
    stage.turns.extend([[*say("one"), SPENT], [*say("two"), SPENT]])

    switch(bench, "test-model", "test-model")

    one = (20 * 10 + 60 * 1 + 20 * 100 + 10 * 1000) / 1_000_000
    assert [usage["cost"] for usage in usages(bench)] == [
        {"turnUsd": pytest.approx(one), "totalUsd": pytest.approx(one)},
        {"turnUsd": pytest.approx(one), "totalUsd": pytest.approx(2 * one)},
    ]


def test_a_threads_cost_is_unknown_once_a_price_was(bench, stage, knows):
    knows(ModelInfo("cheap", prices=ModelPrices(1, 1)))
    stage.turns.extend([[*say("one"), SPENT], [*say("two"), SPENT]])

    switch(bench, "free-spirit", "cheap")

    assert usages(bench)[0]["cost"] == {"turnUsd": None, "totalUsd": None}
    assert usages(bench)[1]["cost"]["turnUsd"] is not None
    assert usages(bench)[1]["cost"]["totalUsd"] is None


def test_another_model_brings_its_own_facts(bench, stage, knows):
    knows(
        ModelInfo("small", context_window=100, default_effort="low"),
        ModelInfo("large", context_window=900),
    )
    stage.turns.extend([[*say("one"), DONE], [*say("two"), DONE]])

    switch(bench, "small", "large")

    assert [usage["modelContextWindow"] for usage in usages(bench)] == [100, 900]
    assert [request.reasoning_effort for request in stage.requests] == ["low", None]


def test_a_model_that_may_not_call_a_tool_is_not_offered_it(bench, stage, knows):
    knows(ModelInfo("test-model", disabled_tools=("echo",)))
    stage.turns.extend([[call("echo", '{"text": "hi"}'), DONE], [*say("ok"), DONE]])

    bench.turn()

    assert "echo" not in [tool.name for tool in stage.requests[0].tools]
    assert list(bench.outputs(stage).values()) == ["unsupported call: echo"]


def test_a_model_with_nearly_the_name_of_a_known_one_is_doubted(bench, stage, knows, monkeypatch):
    bench.set_key("model_provider", '"openai"')
    bench.set_key("model", '"gtp-5"')
    monkeypatch.setitem(bench.host.environ, "OPENAI_API_KEY", "unused")
    knows(ModelInfo("gpt-5", provider="openai"), ModelInfo("gpt-5", provider="other"))

    async def script(session):
        pass

    bench.run(script)

    doubt = "no model 'gtp-5' is known of the provider 'openai'; did you mean 'gpt-5'?"
    assert doubt in [warning["message"] for warning in bench.of("warning")]


def test_a_plugin_that_fails_is_reported_and_the_session_goes_on(bench, stage):
    stage.hooks["ferrule_models"] = RuntimeError("catalogue on fire")
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert bench.items("agentMessage")[0]["text"] == "ok"
    assert any("catalogue on fire" in warning["message"] for warning in bench.of("warning"))
