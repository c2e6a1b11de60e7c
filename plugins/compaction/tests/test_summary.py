"""The compactor `summary`: what it asks for, what it keeps and what it refuses."""

import os

import pytest

from ferrule_compaction.checkpoint import SummaryRefusedError
from ferrule_compaction.summary import SummaryCompactor
from ferrule_hookspecs.errors import ConfigError, ProviderError

pytestmark = pytest.mark.anyio

LEDGER = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "<ledger>\n- exit 0: make\n</ledger>"}],
}
OVERFLOW = ProviderError("too long", kind="contextWindowExceeded")


@pytest.fixture
def compacted(talk):
    async def run(answers, *, reason="auto", body=None, context=None, request=None, **material):
        provider = talk.provider(answers)
        asked = talk.request(body or talk.called(1, "done"), **(request or {}))
        compactor = SummaryCompactor(context or talk.context())
        given = talk.material(**material)
        result = await compactor.compact(asked, provider, reason=reason, material=given)
        return result, asked, provider.requests

    return run


async def test_the_checkpoint_request_begins_with_the_bytes_of_the_one_before(compacted):
    _, asked, (sent,) = await compacted(["The parser is written; its tests are next."])

    assert sent.input[:-1] == asked.input
    assert sent.tools == asked.tools
    assert sent.kind == "compaction"
    assert sent.input[-1]["role"] == "user"


async def test_an_answer_in_a_schema_is_not_asked_for(compacted):
    schema = {"type": "object"}
    _, _, (sent,) = await compacted(["It is half done."], request={"output_schema": schema})

    assert sent.output_schema is None


async def test_user_messages_then_the_ledger_then_the_summary(compacted, talk):
    result, _, _ = await compacted(
        ["The parser is written."], user_texts=["Write a parser.", "In Python."], ledger=LEDGER
    )

    texts = talk.texts(result.history)
    assert texts[:3] == ["Write a parser.", "In Python.", LEDGER["content"][0]["text"]]
    assert "The parser is written." in texts[3]
    assert result.summary == "The parser is written."


async def test_the_oldest_message_that_counts_is_cut_in_its_middle(compacted, talk):
    long = "begin " + "x" * 120_000 + " end"
    result, _, _ = await compacted(
        ["Nothing is done yet."], user_texts=["forgotten", long, "the newest"]
    )

    missing, cut, newest, _ = talk.texts(result.history)
    assert missing == "[… 1 older messages of the user are left out …]"
    assert newest == "the newest"
    assert cut.startswith("begin ")
    assert cut.endswith(" end")
    assert "tokens are left out here" in cut
    assert 19_000 * 4 < len(cut) < 21_000 * 4


async def test_user_messages_leave_room_in_a_small_window(compacted, talk):
    result, _, _ = await compacted(
        ["Nothing is done yet."], user_texts=["y" * 80_000], window=8_000
    )

    assert len(talk.texts(result.history)[0]) < 9_000


@pytest.mark.parametrize("answer", ["", "  \n", "ok.", "---------"], ids=repr)
async def test_a_summary_that_says_nothing_is_refused(compacted, answer):
    with pytest.raises(SummaryRefusedError, match="kept as it is"):
        await compacted([answer])


async def test_a_model_that_calls_tools_is_told_that_only_the_note_is_wanted(compacted, talk):
    call = talk.called(9, "")[:1]
    result, _, (first, second) = await compacted([call, "The parser is written."])

    assert result.summary == "The parser is written."
    assert second.input[: len(first.input)] == first.input
    assert second.input[-1]["type"] == "function_call_output"


async def test_a_model_that_only_calls_tools_is_refused(compacted, talk):
    call = talk.called(9, "")[:1]
    with pytest.raises(SummaryRefusedError):
        await compacted([call, call])


async def test_a_failure_that_may_pass_is_tried_again(compacted):
    broken = ProviderError("HTTP 500", retryable=True, retry_after_s=0)
    result, _, requests = await compacted([broken, broken, "The parser is written."])

    assert result.summary == "The parser is written."
    assert len(requests) == 3


async def test_a_failure_that_stays_is_the_failure(compacted):
    broken = ProviderError("HTTP 500", retryable=True, retry_after_s=0)
    with pytest.raises(ProviderError, match="HTTP 500"):
        await compacted([broken] * 4)


async def test_what_overflowed_is_trimmed_in_one_step(compacted, talk):
    body = [item for number in range(300) for item in talk.called(number, "word " * 200)]
    _, asked, (sent,) = await compacted(
        ["Three hundred calls were made."],
        reason="overflow",
        body=body,
        tokens=100_000,
        window=90_000,
    )

    assert sent.input[:2] == asked.input[:2]
    assert "older items of this conversation are left out" in talk.texts(sent.input)[2]
    assert len(asked.input) * 0.5 < len(sent.input) < len(asked.input)


async def test_a_checkpoint_that_overflows_is_trimmed_to_half_each_time(compacted, talk):
    body = [item for number in range(300) for item in talk.called(number, "word " * 200)]
    with pytest.raises(ProviderError, match="too long"):
        await compacted([OVERFLOW] * 4, body=body, tokens=100_000)

    answers = [OVERFLOW, OVERFLOW, "Three hundred calls were made."]
    _, _, requests = await compacted(answers, body=body, tokens=100_000)
    sizes = [len(request.input) for request in requests]
    assert sizes[0] > 1.8 * sizes[1] > 3 * sizes[2]


async def test_the_summary_before_is_never_trimmed_away(compacted, talk):
    result, _, _ = await compacted(["The parser is written."])
    body = [*result.history, *(talk.said("user", "word " * 300) for _ in range(200))]
    _, _, (sent,) = await compacted(
        ["Two hundred words came."], reason="overflow", body=body, tokens=80_000, window=40_000
    )

    assert talk.texts(sent.input)[3] == talk.texts(result.history)[-1]
    assert "Do it." not in talk.texts(sent.input)


async def test_the_prompt_can_be_configured(compacted, talk, tmp_path):
    context = talk.context(compact_prompt="Sum it up.")
    _, _, (sent,) = await compacted(["The parser is written."], context=context)
    assert talk.texts(sent.input)[-1] == "Sum it up."

    (tmp_path / "prompt.md").write_text("From the file.")
    context = talk.context(tmp_path, experimental_compact_prompt_file="prompt.md")
    _, _, (sent,) = await compacted(["The parser is written."], context=context)
    assert talk.texts(sent.input)[-1] == "From the file."

    context = talk.context(tmp_path, experimental_compact_prompt_file="none.md")
    with pytest.raises(ConfigError, match=r"none\.md"):
        await compacted([], context=context)


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
@pytest.mark.parametrize("kind", ["link", "pipe"])
async def test_what_was_put_in_place_of_the_prompts_file_is_not_read(
    compacted, talk, tmp_path, kind
):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "secret").write_text("secret")
    if kind == "link":
        (project / "prompt.md").symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(project / "prompt.md")
    context = talk.context(project, experimental_compact_prompt_file="prompt.md")
    context = context._replace(project_root=str(project))

    with pytest.raises(ConfigError, match=r"leads out of the project|no regular file"):
        await compacted([], context=context)
