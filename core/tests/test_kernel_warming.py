"""Where a person is there, the provider prepares the first request before it is asked for."""

import anyio
import pytest
from kernel_plugins.speech import DONE, say

from ferrule_hookspecs.errors import ProviderError


async def until_warm(stage):
    with anyio.fail_after(120):
        while len(stage.warmed) < 2:
            await anyio.sleep(0.001)


@pytest.fixture
def warmed(bench, stage):
    """Open a thread with a client that answers, wait until the provider was asked, run a turn."""
    stage.turns.append([*say("ok"), DONE])

    async def script(session):
        await until_warm(stage)
        await bench.start(session)
        await bench.until("turn/completed")

    def run(fault=None):
        stage.faults["warm_up"] = fault
        bench.run(script, can_answer=True)
        return stage.warmed

    return run


def test_the_provider_gets_what_the_first_request_begins_with(warmed, stage):
    prewarm, request = warmed()

    assert prewarm == "prewarm"
    assert stage.requests[0].input[: len(request.input)] == request.input
    assert request.input
    assert request.tools == stage.requests[0].tools


@pytest.mark.parametrize("fault", [ProviderError("no line"), RuntimeError("bug"), "hang"])
def test_what_goes_wrong_meanwhile_is_of_no_concern(warmed, bench, fault):
    warmed(fault)

    assert bench.items("agentMessage")[0]["text"] == "ok"


def test_a_session_that_nobody_answers_does_not_pay_for_it(bench, stage):
    stage.turns.append([*say("ok"), DONE])

    bench.turn()

    assert stage.warmed == []
