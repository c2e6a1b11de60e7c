"""The compactor `remote`: takes what the provider gives, and a summary where it gives nothing."""

import pytest

from ferrule_compaction.remote import RemoteCompactor
from ferrule_hookspecs.errors import ConfigError, ProviderError

pytestmark = pytest.mark.anyio

SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
REFUSED = ProviderError("unknown item type", kind="badRequest", status=400)
SUMMARY = "The parser is written."


@pytest.fixture
def remote(talk):
    """Compact some history; `endpoint` is what the provider's endpoint answers, in order."""

    class Remote:
        def __init__(self):
            self.warnings = []
            self.asked = talk.request(talk.called(1, "done"))

        async def __call__(self, answers, endpoint=(), *, times=1, reason="auto", **config):
            context = talk.context(**config)._replace(warn=self.warnings.append)
            compactor = RemoteCompactor(context)
            self.provider = talk.provider(answers)
            self.endpoint = talk.provider(endpoint or ())
            if endpoint is not None:
                self.provider.compact = self.endpoint.stream
            for _ in range(times):
                result = await compactor.compact(
                    self.asked, self.provider, reason=reason, material=talk.material()
                )
            return result

    return Remote()


async def test_the_trigger_comes_behind_the_whole_input(remote, talk):
    result = await remote([[SEALED]])

    (sent,) = remote.provider.requests
    assert sent.input == (*remote.asked.input, {"type": "compaction_trigger"})
    assert sent.tools == remote.asked.tools
    assert result.history[-1] == SEALED
    assert talk.texts(result.history) == ["Do it."]
    assert result.summary
    assert not remote.warnings


@pytest.mark.parametrize(
    "answer",
    [[], [SEALED, SEALED], [{"type": "compaction", "encrypted_content": ""}], REFUSED],
    ids=["none", "two", "empty", "refused"],
)
async def test_what_is_not_one_sealed_item_leads_to_the_endpoint(remote, talk, answer):
    result = await remote([answer], [[talk.said("user", "Do it."), SEALED]])

    assert remote.endpoint.requests[0].input == remote.asked.input
    assert result.history[-1] == SEALED
    assert talk.texts(result.history) == ["Do it."]


async def test_where_both_are_refused_a_summary_is_asked_for_and_that_is_said_once(remote):
    result = await remote([REFUSED, SUMMARY, SUMMARY], [REFUSED], times=2)

    assert result.summary == SUMMARY
    (warning,) = remote.warnings
    assert "'Told'" in warning
    assert "unknown item type" in warning


async def test_a_failure_that_may_pass_is_not_held_against_the_form(remote):
    busy = ProviderError("HTTP 500", retryable=True)
    result = await remote([busy, SUMMARY, [SEALED]], times=2)

    assert result.history[-1] == SEALED
    assert len(remote.warnings) == 1


async def test_an_api_that_shortens_nothing_is_not_asked_to(remote):
    result = await remote([SUMMARY], None)

    assert result.summary == SUMMARY
    assert len(remote.provider.requests) == 1
    assert "its API cannot" in remote.warnings[0]


async def test_what_does_not_fit_is_trimmed_and_summed_up(remote):
    result = await remote([SUMMARY], reason="overflow")

    assert result.summary == SUMMARY
    assert not remote.warnings


async def test_one_form_can_be_chosen(remote):
    result = await remote([], [[SEALED]], compactors={"remote": {"form": "endpoint"}})
    assert result.history[-1] == SEALED

    with pytest.raises(ConfigError, match="trigger, endpoint"):
        await remote([], compactors={"remote": {"form": "magic"}})
